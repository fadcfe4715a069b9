import CoreTypes
import Foundation

/// ``JSONDocumentReader``: what it answers, Foundation's reader, which shares no code with it, answers as well.
enum JSONProperties {
  /// Any document of values that both readers have.
  indirect enum Document: Decodable, Hashable, CustomStringConvertible {
    case null
    case flag(Bool)
    case integer(Int64)
    case text(String)
    case list([Document])
    case object([String: Document])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let flag = try? container.decode(Bool.self) {
        self = .flag(flag)
      } else if let integer = try? container.decode(Int64.self) {
        self = .integer(integer)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let list = try? container.decode([Document].self) {
        self = .list(list)
      } else {
        self = .object(try container.decode([String: Document].self))
      }
    }

    /// One spelling of the document, which other programs can write as well: names by their bytes, texts by their scalars.
    var description: String {
      switch self {
      case .null: "null"
      case .flag(let flag): flag ? "true" : "false"
      case .integer(let integer): String(integer)
      case .text(let text): Self.spelled(text)
      case .list(let list): "[" + list.map(\.description).joined(separator: ",") + "]"
      case .object(let members):
        "{"
          + members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
          .map { "\(Self.spelled($0.key)):\($0.value)" }.joined(separator: ",") + "}"
      }
    }

    private static func spelled(_ text: String) -> String {
      "(" + text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ") + ")"
    }
  }

  static func check(_ bytes: [UInt8]) -> String? {
    guard let ours = JSONDocumentReader.value(Document.self, in: bytes) else { return nil }
    guard let theirs = try? JSONDecoder().decode(Document.self, from: Data(bytes)) else {
      return "\(ours) is read, which Foundation refuses"
    }
    return ours.description == theirs.description ? nil : "\(ours) is read, and \(theirs) by Foundation"
  }
}

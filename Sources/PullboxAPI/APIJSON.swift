import Foundation

/// The one way JSON is written and read on every interface: UTF-8, camelCase, sorted keys, dates by ``Timestamp``.
public enum APIJSON {
  public static func encode(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }

  public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
  }

  /// A sentence for people about what a decoder refused, naming the member.
  public static func explain(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "not readable as JSON" }
    func name(_ path: [any CodingKey]) -> String {
      path.isEmpty
        ? "the document"
        : path.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }.joined(separator: ".")
    }
    switch error {
    case .typeMismatch(let type, let context): return "\(name(context.codingPath)) is not a \(type)"
    case .valueNotFound(_, let context): return "\(name(context.codingPath)) is null"
    case .keyNotFound(let key, let context): return "\(name(context.codingPath + [key])) is missing"
    case .dataCorrupted(let context): return "\(name(context.codingPath)): \(context.debugDescription)"
    @unknown default: return "not readable as JSON"
    }
  }
}

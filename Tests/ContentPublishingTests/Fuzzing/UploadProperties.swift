import Crypto
import Foundation

@testable import ContentDelivery
@testable import DeliveryModel
@testable import RouteAccess

/// The fields by which uploads are described, of tus and of the draft of resumable uploads; each line of an input is a line of the field.
/// What is read is the same once it is written and read again, and metadata are what a reading of their own makes of them.
enum UploadProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    let lines = bytes.prefix(1024).split(separator: 0x0A, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    return checkItem(lines) ?? checkDictionary(lines) ?? lines.lazy.compactMap(checkChecksum).first
      ?? checkMetadata(String(decoding: bytes.prefix(1024), as: UTF8.self))
  }

  private static func spelled(_ item: StructuredField) -> String? {
    switch item {
    case .integer(let number): abs(number) < 1_000_000_000_000_000 ? String(number) : nil
    case .boolean(let flag): flag ? "?1" : "?0"
    case .bytes(let bytes): ":\(Data(bytes).base64EncodedString()):"
    case .other: "token"
    }
  }

  private static func checkItem(_ lines: [String]) -> String? {
    guard let item = StructuredField.item(lines) else { return nil }
    guard let text = spelled(item) else { return "\(item) is a number of too many digits" }
    guard StructuredField.item([text]) == item else { return "\(item) is read otherwise as \(text)" }
    if let length = StructuredField.length(lines) {
      guard item == .integer(length), length >= 0 else { return "\(item) is the length \(length)" }
    }
    if let flag = StructuredField.boolean(lines), item != .boolean(flag) { return "\(item) is \(flag)" }
    return nil
  }

  private static func checkDictionary(_ lines: [String]) -> String? {
    guard let members = StructuredField.dictionary(lines) else { return nil }
    var parts: [String] = []
    for (key, item) in members {
      guard let text = spelled(item), key.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x3D }) else {
        return "\(key)=\(item)"
      }
      parts.append("\(key)=\(text)")
    }
    guard StructuredField.dictionary([parts.joined(separator: ", ")]) == members else {
      return "\(members) is read otherwise as \(parts)"
    }
    if let sum = DigestField.sha256(lines), members["sha-256"] != .bytes(sum.array) {
      return "a digest of no member"
    }
    return nil
  }

  /// tus 1.0.0, checksum extension: a name, a space and base 64, as Foundation knows it, of as many bytes as the algorithm has.
  private static func checkChecksum(_ line: String) -> String? {
    guard let checksum = try? TusChecksum.parse(line) else { return nil }
    let words = line.split(separator: " ", omittingEmptySubsequences: false)
    let lengths: [Substring: Int] = ["sha1": 20, "sha256": 32]
    guard words.count == 2, let length = lengths[words[0]],
      Data(base64Encoded: String(words[1])).map(Array.init) == checksum.bytes, checksum.bytes.count == length
    else { return "\(line.debugDescription) is a checksum" }
    return nil
  }

  /// Against a reading of its own, which knows base 64 from Foundation.
  private static func checkMetadata(_ text: String) -> String? {
    guard let metadata = UploadMetadata(text) else { return nil }
    var keys: Set<Substring> = []
    for pair in text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = pair.split(separator: " ")
      guard let key = words.first, words.count <= 2, keys.insert(key).inserted else {
        return "\(text.debugDescription) is a list"
      }
      let bytes = words.count == 2 ? Data(base64Encoded: String(words[1])) : Data()
      guard let bytes else { return "\(words[1]) is base 64" }
      if metadata[String(key)] != String(validating: bytes, as: UTF8.self) {
        return "\(key) has another value"
      }
    }
    return nil
  }
}

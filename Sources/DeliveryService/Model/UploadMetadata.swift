import Crypto

/// `Upload-Metadata` of tus: keys, each with a base 64 value or none, separated by commas.
struct UploadMetadata {
  private let values: [String: [UInt8]]

  /// Nil when the list is malformed or has a key twice.
  init?(_ text: String) {
    var values: [String: [UInt8]] = [:]
    for pair in text.split(separator: ",") {
      let parts = pair.split(separator: " ")
      guard (1...2).contains(parts.count), parts[0].allSatisfy(\.isASCII), values[String(parts[0])] == nil
      else {
        return nil
      }
      guard parts.count == 2 else {
        values[String(parts[0])] = []
        continue
      }
      guard let value = Base64.decode(parts[1]) else { return nil }
      values[String(parts[0])] = value
    }
    self.values = values
  }

  /// The value as text; nil without the key or when it is not UTF-8.
  subscript(key: String) -> String? {
    values[key].flatMap { String(validating: $0, as: UTF8.self) }
  }
}

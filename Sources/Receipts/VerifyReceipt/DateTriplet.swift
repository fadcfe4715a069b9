import CoreTypes

/// `verifyReceipt` writes every date three times: `x` in GMT, `x_ms` in milliseconds, `x_pst` in California's time.
extension KeyedDecodingContainer where Key == VerifyReceiptKey {
  /// The milliseconds, or else the first spelling: in GMT, in RFC 3339, or (in old answers) again milliseconds. Nil
  /// when there is none, or an empty one.
  func date(_ name: String) throws -> Timestamp? {
    if let milliseconds = try lenientInteger(VerifyReceiptKey(name + "_ms")) {
      return Timestamp(clampingMilliseconds: milliseconds)
    }
    guard let text = try lenientText(VerifyReceiptKey(name)), !text.isEmpty else { return nil }
    if let milliseconds = Int64(text) { return Timestamp(clampingMilliseconds: milliseconds) }
    let parts = text.split(separator: " ")
    let rfc3339 = parts.count == 3 && parts[2] == "Etc/GMT" ? "\(parts[0])T\(parts[1])Z" : text
    guard let date = Timestamp(clampingRFC3339: rfc3339) else {
      throw DecodingError.dataCorruptedError(
        forKey: VerifyReceiptKey(name), in: self, debugDescription: "not a date: \(text)")
    }
    return date
  }
}

extension KeyedEncodingContainer where Key == VerifyReceiptKey {
  /// Nothing for nil.
  mutating func encode(date: Timestamp?, _ name: String) throws {
    guard let date else { return }
    try encode(date.wallText(zone: "Etc/GMT"), forKey: VerifyReceiptKey(name))
    try encode(String(date.millisecondsSinceEpoch), forKey: VerifyReceiptKey(name + "_ms"))
    try encode(date.californiaText, forKey: VerifyReceiptKey(name + "_pst"))
  }
}

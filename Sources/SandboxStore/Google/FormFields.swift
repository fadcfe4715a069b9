/// The fields of a form (`application/x-www-form-urlencoded`), each once: of several the last one counts.
struct FormFields: Sendable {
  private var values: [String: String] = [:]

  /// Never fails. A percent sign that begins no octet stands for itself: two hexadecimal digits must follow (RFC 3986 §2.1).
  /// Octets that are not UTF-8 are replaced, and a field without an equals sign is empty.
  init(_ body: [UInt8]) {
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      values[Self.decoded(parts[0])] = parts.count > 1 ? Self.decoded(parts[1]) : ""
    }
  }

  /// Nil where the form has no field of that name.
  subscript(name: String) -> String? { values[name] }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    var decoded: [UInt8] = []
    var rest = bytes
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): decoded.append(0x20)
      case UInt8(ascii: "%"):
        let digits = rest.prefix(2)
        // Without this a sign would count as a digit.
        guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
          let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else {
          decoded.append(byte)
          continue
        }
        decoded.append(value)
        rest = rest.dropFirst(2)
      default: decoded.append(byte)
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }
}

/// Numbers of JSON5.
enum JSON5Number {
  /// Nil for what is no number, and for one that is not finite.
  static func parse(_ text: String) -> ConfigurationValue.Content? {
    let sign = text.hasPrefix("-") ? "-" : ""
    let digits = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
      guard digits.utf8.dropFirst(2).allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
        return nil
      }
      return Int64(sign + digits.dropFirst(2), radix: 16).map { .integer($0) }
    }
    guard isDecimal(digits) else { return nil }
    if let integer = Int64(sign + digits) { return .integer(integer) }
    guard let number = Double(sign + digits), number.isFinite else { return nil }
    return .number(number)
  }

  /// `1`, `1.5`, `.5`, `5.`, `1e3`; no zero stands before another digit.
  private static func isDecimal(_ text: Substring) -> Bool {
    var rest = text.utf8[...]
    func digits() -> Int {
      let count = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    let startsWithZero = rest.first == UInt8(ascii: "0")
    let whole = digits()
    guard whole <= 1 || !startsWithZero else { return false }
    var fraction = 0
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      fraction = digits()
    }
    guard whole + fraction > 0 else { return false }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest = rest.dropFirst()
      if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }
}

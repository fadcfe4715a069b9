/// The value of `Content-Range` for bytes (RFC 9110 §14.4).
public struct ContentRange: Hashable, Sendable {
  /// Nil in the form of a 416 answer, `bytes */N`.
  public let range: Range<Int64>?
  /// Nil where the sender does not know it (`*`).
  public let completeLength: Int64?

  /// A value from its parts, one of which must be given.
  public init(range: Range<Int64>?, completeLength: Int64?) {
    self.range = range
    self.completeLength = completeLength
  }

  /// Reads the field's value. Nil for another unit, and for ranges that end before they start or past the
  /// complete length.
  public init?(_ text: String) {
    guard let space = text.firstIndex(of: " "), text[..<space].lowercased() == "bytes" else { return nil }
    let parts = text[text.index(after: space)...].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    if parts[1] == "*" {
      completeLength = nil
    } else {
      guard let length = Self.number(parts[1]) else { return nil }
      completeLength = length
    }
    if parts[0] == "*" {
      guard completeLength != nil else { return nil }
      range = nil
      return
    }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
      last < Int64.max, completeLength.map({ last < $0 }) ?? true
    else { return nil }
    range = first..<last + 1
  }

  /// Digits only: no sign, no space.
  static func number(_ text: some StringProtocol) -> Int64? {
    isDigits(text) ? Int64(text) : nil
  }

  /// Whether `text` is `1*DIGIT`, of any length.
  static func isDigits(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}

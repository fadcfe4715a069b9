/// Walks through the range specs of a `Range` field: a position, for the field's bytes are passed with each step.
struct RangeReader {
  enum Element: Hashable {
    case invalid
    case unsatisfiable
    case range(Range<Int64>)
  }

  private let length: Int64
  private var position = 6

  /// Nil when the unit is not `bytes`, in any case, followed by `=`.
  init?(_ field: Span<UInt8>, length: Int64) {
    guard field.count > 6, field[5] == ASCII.equals,
      PackedName(field, start: 0, length: 5) == PackedName(0x62_7974_6573, 0, 0)
    else { return nil }
    self.length = length
    skipEmpty(field)
  }

  /// Whether only commas and white space are left.
  func isAtEnd(_ field: Span<UInt8>) -> Bool { position == field.count }

  /// The next spec; nil at the end. After `.invalid` nothing sensible follows.
  mutating func next(_ field: Span<UInt8>) -> Element? {
    guard position < field.count else { return nil }
    let first = number(field)
    guard position < field.count, field[position] == ASCII.hyphen else { return end(.invalid, field) }
    position += 1
    let last = number(field)
    skipWhiteSpace(field)
    guard position == field.count || field[position] == ASCII.comma else { return end(.invalid, field) }
    skipEmpty(field)
    switch (first, last) {
    case (nil, nil): return .invalid
    case (nil, let suffix?): return suffix == 0 ? .unsatisfiable : .range(max(0, length - suffix)..<length)
    case (let first?, nil): return first < length ? .range(first..<length) : .unsatisfiable
    case (let first?, let last?):
      guard last >= first else { return .invalid }
      return first < length ? .range(first..<min(last, length - 1) + 1) : .unsatisfiable
    }
  }

  /// 1*DIGIT, saturating; nil without a digit.
  private mutating func number(_ field: Span<UInt8>) -> Int64? {
    let start = position
    var next = start
    var value: Int64 = 0
    while next < field.count, ASCII.isDigit(field[next]) {
      let digit = Int64(field[next] &- ASCII.zero)
      if next - start < 18 {
        // Eighteen digits always fit.
        value = value &* 10 &+ digit
      } else {
        let (product, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, carry) = product.addingReportingOverflow(digit)
        value = overflow || carry ? .max : sum
      }
      next += 1
    }
    position = next
    return next > start ? value : nil
  }

  private mutating func end(_ element: Element, _ field: Span<UInt8>) -> Element {
    position = field.count
    return element
  }

  private mutating func skipWhiteSpace(_ field: Span<UInt8>) {
    while position < field.count, field[position] == ASCII.space || field[position] == ASCII.tab {
      position += 1
    }
  }

  /// Empty list elements are legal (RFC 9110 §5.6.1.2).
  private mutating func skipEmpty(_ field: Span<UInt8>) {
    while position < field.count,
      field[position] == ASCII.comma || field[position] == ASCII.space || field[position] == ASCII.tab
    {
      position += 1
    }
  }
}

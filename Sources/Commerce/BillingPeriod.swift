/// How long one payment for a subscription lasts, in the calendar's units. As text an ISO 8601 duration of one
/// component: `P1W`, `P1M`, `P1Y`.
public struct BillingPeriod: Hashable, Sendable {
  public enum Unit: Character, Sendable {
    case day = "D"
    case week = "W"
    case month = "M"
    case year = "Y"
  }

  public let count: Int
  public let unit: Unit

  /// Nil unless `text` is `P`, a number from 1 to 999 and one of `D W M Y`.
  public init?(_ text: String) {
    guard text.first == "P", let last = text.last, let unit = Unit(rawValue: last) else { return nil }
    let digits = text.dropFirst().dropLast()
    guard (1...3).contains(digits.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int(digits), count > 0
    else { return nil }
    self.count = count
    self.unit = unit
  }

  public var text: String { "P\(count)\(unit.rawValue)" }
}

extension BillingPeriod: TextCodable {}

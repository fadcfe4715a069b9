/// What a product costs in one territory.
public struct Price: Hashable, Sendable, Codable {
  /// A decimal number as written by the operator (`2.99`): never a floating-point number.
  public let amount: String
  /// ISO 4217, three capital letters.
  public let currency: String

  /// Nil unless `amount` is digits with at most one point and three decimals, and `currency` three capital letters.
  public init?(amount: String, currency: String) {
    let parts = amount.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), (1...9).contains(parts[0].count),
      parts.count == 1 || (1...3).contains(parts[1].count),
      parts.allSatisfy({ $0.allSatisfy { (0x30...0x39).contains($0) } }),
      currency.utf8.count == 3, currency.utf8.allSatisfy({ (0x41...0x5A).contains($0) })
    else { return nil }
    self.amount = amount
    self.currency = currency
  }

  private enum CodingKeys: CodingKey {
    case amount
    case currency
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let amount = try container.decode(String.self, forKey: .amount)
    let currency = try container.decode(String.self, forKey: .currency)
    guard let price = Price(amount: amount, currency: currency) else {
      throw DecodingError.dataCorruptedError(
        forKey: .amount, in: container, debugDescription: "not a price: \(amount) \(currency)")
    }
    self = price
  }
}

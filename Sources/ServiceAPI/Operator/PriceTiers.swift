public import Commerce
public import PullboxAPI

/// Prices under a name that products share: `GET /v1/operator/price-tiers/{name}`.
public struct PriceTier: Codable, Hashable, Sendable {
  /// The tier's name.
  public var name: PriceTierName
  /// By ISO 3166 alpha-3 territory; empty for the free tier alone.
  public var prices: [String: Price]

  /// The tier `0`, which is always there: free in all territories.
  public static let free = PriceTier(name: .free, prices: [:])

  /// Creates the document from its members.
  public init(name: PriceTierName, prices: [String: Price]) {
    self.name = name
    self.prices = prices
  }
}

/// A price tier as an operator writes it: the body of `PUT /v1/operator/price-tiers/{name}`.
public struct PriceTierDescription: Codable, Sendable, OperatorWritten {
  /// The tier's name; it may be left out, the address has it.
  public var name: PriceTierName?
  /// By ISO 3166 alpha-3 territory; at least one.
  public var prices: [String: Price]

  /// Creates the document from its members.
  public init(name: PriceTierName? = nil, prices: [String: Price]) {
    self.name = name
    self.prices = prices
  }
}

/// `GET /v1/operator/price-tiers`: all of them, the free one first.
public struct PriceTierList: Codable, Sendable {
  /// By name.
  public var tiers: [PriceTier]

  /// Creates the document from its member.
  public init(tiers: [PriceTier]) {
    self.tiers = tiers
  }
}

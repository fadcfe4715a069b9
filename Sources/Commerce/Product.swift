public import CoreTypes

/// What is sold, as the operator describes it.
public struct Product: Hashable, Sendable, Codable {
  /// The texts of one locale.
  public struct Localization: Hashable, Sendable, Codable {
    public var title: String
    public var description: String

    public init(title: String, description: String) {
      self.title = title
      self.description = description
    }
  }

  public var id: ProductIdentifier
  public var type: ProductType
  /// Texts by BCP 47 tag (`fr-FR`).
  public var localizations: [String: Localization]
  /// Prices by ISO 3166 alpha-3 territory (`FRA`). Empty: for sale everywhere, for free.
  public var prices: [String: Price]
  /// The series this product is an issue of, or, for a subscription, the series it subscribes to.
  public var publication: ProductIdentifier?
  /// When this issue appeared; the magazine rule compares it with subscription periods.
  public var publicationDate: Timestamp?
  /// Subscriptions only.
  public var period: BillingPeriod?
  /// Whose signatures its content needs; nil where content may come unsigned, never empty.
  public var publisherKeys: [PublisherKeyIdentifier]?

  public init(
    id: ProductIdentifier, type: ProductType, localizations: [String: Localization] = [:],
    prices: [String: Price] = [:], publication: ProductIdentifier? = nil, publicationDate: Timestamp? = nil,
    period: BillingPeriod? = nil, publisherKeys: [PublisherKeyIdentifier]? = nil
  ) {
    self.id = id
    self.type = type
    self.localizations = localizations
    self.prices = prices
    self.publication = publication
    self.publicationDate = publicationDate
    self.period = period
    self.publisherKeys = publisherKeys
  }
}

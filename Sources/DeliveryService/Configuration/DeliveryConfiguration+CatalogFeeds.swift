import CatalogFeeds
import Commerce
import ServiceRuntime

extension DeliveryConfiguration {
  /// The catalog for readers' applications.
  public struct ReaderCatalog: Decodable, Hashable, Sendable {
    /// Whether the shop is shown to all who ask.
    public var `public`: Bool?
    /// The name of the catalog.
    public var title: String?
    /// The territory whose prices are shown where a request names none: `FRA`.
    public var territory: String?
    /// The publisher's own address for a product: a template with `{product}`.
    public var shopURL: String?
  }

  /// The options of that catalog, which need a restart.
  static let catalogFeedOptions: [CommandOption] = [
    .flag(
      "catalog-feeds-public", key: "catalogFeeds.public",
      help: "Show the shop to readers' applications (OPDS) without a reader's key"),
    .value(
      "catalog-feeds-title", "TEXT", key: "catalogFeeds.title",
      help: "Name of the catalog in readers' applications; Pullbox without it"
    ).example("Example Comics"),
    .value(
      "catalog-feeds-territory", "TERRITORY", key: "catalogFeeds.territory",
      help: "Show prices of that territory (ISO 3166 alpha-3) where an application names none"
    ).example("FRA"),
    .value(
      "catalog-feeds-shop-url", "TEMPLATE", key: "catalogFeeds.shopURL",
      help:
        "Address where a product is bought, with {product}, and {territory} and {locale} where it likes"
    ).example("https://shop.example/{product}"),
  ]

  /// Characters of a catalog's name, at most.
  private static let maximumTitleLength = 200

  /// Throws ``ConfigurationError`` for a name that is empty or too long, a territory that is none, and an address that is no template.
  func catalogFeedSettings() throws(ConfigurationError) -> CatalogFeedSettings {
    let feeds = catalogFeeds
    let title = feeds?.title ?? CatalogFeedSettings.standardTitle
    guard (1...Self.maximumTitleLength).contains(title.unicodeScalars.count) else {
      throw ConfigurationError(
        subject: "catalogFeeds.title", message: "1 to \(Self.maximumTitleLength) characters are expected here"
      )
    }
    var settings = CatalogFeedSettings(isPublic: feeds?.public ?? false, title: title)
    if let code = feeds?.territory {
      guard let territory = Territory(code) else {
        throw ConfigurationError(
          subject: "catalogFeeds.territory", message: "\(code) is no territory of ISO 3166 alpha-3")
      }
      settings.territory = territory
    }
    if let template = feeds?.shopURL {
      guard let shop = ShopAddress(template) else {
        throw ConfigurationError(
          subject: "catalogFeeds.shopURL",
          message:
            "\(template) is no address with {product}, and {territory} and {locale} where it likes, such as https://shop.example/{product}"
        )
      }
      settings.shop = shop
    }
    return settings
  }
}

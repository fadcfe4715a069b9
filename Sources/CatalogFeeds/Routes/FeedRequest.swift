import CatalogDocuments
import Commerce
import ContentCatalog
import ContentDelivery
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess

/// A request's wishes: which part of the catalog, in whose words, at whose prices.
struct FeedRequest: Sendable {
  /// The parameters of a document that has no pages.
  static let query: Set<String> = ["application", "locale", "territory"]
  /// Those of one that has.
  static let pagedQuery = query.union(["after"])
  /// Those of one that can be narrowed as well.
  static let facetQuery = pagedQuery.union(["price"])

  /// Those of a search.
  static let searchQuery = pagedQuery.union(["q"])

  let choice: FeedChoice
  let localizer: ProductLocalizer
  let application: ApplicationIdentifier?
  let after: ProductIdentifier?
  let onlyFree: Bool

  /// Reads the query. Throws `request-malformed`.
  ///
  /// - Parameters:
  ///   - request: has been checked for parameters of other names, and for those that are there twice.
  ///   - fallback: the territory of a request that names none.
  ///   - usual: the locale of one that names none.
  ///   - priceLocales: by whose rules prices are written.
  init(
    _ request: HTTPRequest, territory fallback: Territory?, locale usual: String?,
    priceLocales: [Territory: String]
  ) throws(Problem) {
    let territory = try request.filter("territory") { Territory($0) }
    let locale = try request.filter("locale") { tag in
      LanguageTag.isAssigned(tag.replacing("_", with: "-")) ? tag : nil
    }
    application = try request.filter("application") { ApplicationIdentifier($0) }
    after = try request.cursor("after") { ProductIdentifier($0) }
    onlyFree = try request.filter("price") { $0 == "free" ? true : nil } ?? false
    choice = FeedChoice(territory: territory?.code, locale: locale, application: application?.description)
    localizer = ProductLocalizer(
      locale: locale ?? usual, territory: territory ?? fallback, priceLocales: priceLocales)
  }
}

import CatalogFeeds
import ContentDelivery
import RouteAccess

/// The catalog for readers' applications.
struct ReaderComponents: Sendable {
  private let feeds: CatalogFeedRoutes

  init(
    on infrastructure: DeliveryComponents.Infrastructure, catalog: CatalogComponents,
    access: AccessComponents, content: ContentRoutes, stores: StoreComponents
  ) throws {
    let configuration = infrastructure.configuration
    feeds = CatalogFeedRoutes(
      on: CatalogFeedRoutes.Infrastructure(
        database: infrastructure.database, cache: catalog.cache, clock: infrastructure.clock,
        applications: stores.applications, settings: access.settings,
        publicURL: configuration.publicURL ?? "", content: content),
      options: try configuration.catalogFeedSettings())
  }

  /// Adds what lies below `/opds`, and the page of the shop.
  func addRoutes(to routes: inout ScopedRoutes) {
    feeds.add(to: &routes)
  }
}

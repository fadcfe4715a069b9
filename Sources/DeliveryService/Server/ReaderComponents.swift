import CatalogFeeds
import ContentDelivery
import ContentGrants
import ContentPublishing
import RouteAccess

/// The catalog for readers' applications.
struct ReaderComponents: Sendable {
  private let feeds: CatalogFeedRoutes
  private let keys: ReaderKeyRoutes

  init(
    on infrastructure: DeliveryComponents.Infrastructure, catalog: CatalogComponents,
    access: AccessComponents, content: ContentRoutes, stores: StoreComponents,
    grants: GrantService, scrubber: PackageScrubber
  ) throws {
    let configuration = infrastructure.configuration
    feeds = CatalogFeedRoutes(
      on: CatalogFeedRoutes.Infrastructure(
        database: infrastructure.database, cache: catalog.cache, clock: infrastructure.clock,
        applications: stores.applications, settings: access.settings,
        publicURL: configuration.publicURL ?? "", content: content, grants: grants,
        readers: ReaderSignIn(grants: grants, settings: access.settings, timer: infrastructure.timer),
        noteDamaged: { _ = await scrubber.noteDamaged($0) }),
      options: try configuration.catalogFeedSettings())
    keys = ReaderKeyRoutes(
      grants: grants, settings: access.settings, admission: access.admission,
      publicURL: configuration.publicURL ?? "")
  }

  /// Adds what lies below `/opds`, the page of the shop, and the readers' keys.
  func addRoutes(to routes: inout ScopedRoutes) {
    feeds.add(to: &routes)
    keys.add(to: &routes)
  }
}

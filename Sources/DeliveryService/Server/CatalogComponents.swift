import Commerce
import ContentCatalog
import ContentGrants
import ContentPublishing
import DeliveryModel
import DeliveryRecords
import Entitlements
import RouteAccess

/// The catalog of what is for sale: the copy in memory that all rooms read, and the routes by which readers see it and
/// operators change it.
struct CatalogComponents: Sendable {
  private let infrastructure: DeliveryComponents.Infrastructure
  let cache: CatalogCache
  /// The rules by which purchases open the products of the catalog.
  let rules = EntitlementRules()

  init(on infrastructure: DeliveryComponents.Infrastructure) {
    self.infrastructure = infrastructure
    cache = CatalogCache(database: infrastructure.database)
  }

  /// Reads the catalog before the first request asks for it.
  func readAhead() async {
    await cache.readAhead(log: infrastructure.log)
  }

  /// Adds the routes of products, and of the previews of their content.
  func addRoutes(
    to routes: inout ScopedRoutes, access: AccessComponents, applications: Set<ApplicationIdentifier>,
    feeds: FeedService, grants: GrantService
  ) {
    let operators = access.operators
    let catalog = Catalog(
      database: infrastructure.database, cache: cache, clock: infrastructure.clock,
      saleRules: {
        SaleMachine.Rules(
          requiresReview: operators.reviewsProducts, requiresSecondKey: operators.needsSecondKey,
          requiresSecondOperator: operators.needsSecondOperator)
      },
      applications: applications, didChange: { feeds.wake() },
      didChangePolicy: { try await grants.applyPolicy(of: $0) })
    CatalogRoutes(catalog: catalog, settings: access.settings).add(to: &routes)
    PreviewRoutes(database: infrastructure.database, clock: infrastructure.clock).add(to: &routes)
  }
}

import CatalogFeeds
import ContentDelivery
import ContentGrants
import ContentPublishing
import Monitoring
import RouteAccess
import ServiceRuntime

/// The catalog for readers' applications.
struct ReaderComponents: Sendable {
  private let feeds: CatalogFeedRoutes
  private let keys: ReaderKeyRoutes
  private let customers: CustomerRoutes
  private let bodies: ReaderBodies
  private let infrastructure: DeliveryComponents.Infrastructure

  init(
    on infrastructure: DeliveryComponents.Infrastructure, catalog: CatalogComponents,
    access: AccessComponents, content: ContentRoutes, stores: StoreComponents,
    grants: GrantService, scrubber: PackageScrubber
  ) throws {
    let configuration = infrastructure.configuration
    self.infrastructure = infrastructure
    let bodies = ReaderBodies(database: infrastructure.database, revocations: content.verifier.revocations)
    self.bodies = bodies
    let admissions = ReaderAdmissions(timer: infrastructure.timer)
    feeds = CatalogFeedRoutes(
      on: CatalogFeedRoutes.Infrastructure(
        database: infrastructure.database, cache: catalog.cache, clock: infrastructure.clock,
        applications: stores.applications, settings: access.settings,
        publicURL: configuration.publicURL ?? "", content: content, grants: grants,
        readers: ReaderSignIn(grants: grants, settings: access.settings, timer: infrastructure.timer),
        bodies: bodies, admissions: admissions, noteDamaged: { _ = await scrubber.noteDamaged($0) }),
      options: try configuration.catalogFeedSettings())
    keys = ReaderKeyRoutes(
      grants: grants, settings: access.settings, admission: access.admission,
      publicURL: configuration.publicURL ?? "", bodies: bodies, admissions: admissions)
    customers = CustomerRoutes(
      explanations: ExplanationRoutes(grants: grants, stores: stores.names), bodies: bodies,
      admissions: admissions)
  }

  /// Ends the bodies of keys that other nodes remove, until the task is cancelled.
  func run() async {
    let log = infrastructure.log
    await bodies.run(timer: infrastructure.timer) { error in
      log.warning("readers' keys could not be looked at", ["error": LogValue(error)])
    }
  }

  /// Answers pages on the loops.
  func pageHandler(_ metrics: ServiceMetrics) -> PageHandler {
    PageHandler(
      of: feeds, metrics: InlineMetrics(of: PageHandler.pattern, includedIn: metrics.routes))
  }

  /// Adds what lies below `/opds`, the page of the shop, the readers' keys, and what operators see and end of them.
  func addRoutes(to routes: inout ScopedRoutes) {
    feeds.add(to: &routes)
    keys.add(to: &routes)
    customers.add(to: &routes)
  }
}

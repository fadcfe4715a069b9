import ContentDelivery
import ContentGrants
import ContentPublishing
import DeliveryModel
import DeliveryRecords
import RouteAccess
import ServiceRuntime

/// The release of versions: when each is due, what stops one, and the feeds that tell devices.
struct ReleaseComponents: Sendable {
  private let settings: LiveSettings
  let feeds: FeedService
  let releaseGuard: ReleaseGuard
  let scheduler: ReleaseScheduler
  let versions: VersionService
  let courses: ReleaseCourseReader

  init(
    on infrastructure: DeliveryComponents.Infrastructure, catalog: CatalogComponents,
    access: AccessComponents, content: ContentComponents, stores: StoreComponents, leases: ProcessLeases
  ) throws {
    settings = access.settings
    let (configuration, database) = (infrastructure.configuration, infrastructure.database)
    let (clock, timer, log) = (infrastructure.clock, infrastructure.timer, infrastructure.log)
    let feeds = FeedService(
      database: database, catalog: catalog.cache, rules: catalog.rules, settings: access.settings,
      clock: clock, timer: timer,
      pace: ReleasePace(
        window: configuration.releaseWindow?.duration, bandwidth: configuration.releaseBandwidth?.bytes),
      publicURL: configuration.publicURL ?? "", log: log)
    self.feeds = feeds
    let (outbox, sales) = (stores.outbox, stores.sales)
    let didSettleDebts: @Sendable () -> Void = {
      outbox.sweep()
      sales.sweep()
    }
    let rule = try configuration.releaseStopRule()
    courses = ReleaseCourseReader(database: database, rule: rule)
    releaseGuard = ReleaseGuard(
      database: database, rule: rule, clock: clock, stops: content.revocations,
      didSettleDebts: didSettleDebts, didChangeCatalog: { feeds.wake() }, log: log)
    scheduler = ReleaseScheduler(
      database: database, clock: clock, timer: timer, stops: content.revocations,
      didSettleDebts: didSettleDebts, didChangeCatalog: { feeds.wake() }, lease: leases.lease("releases"),
      log: log)
    versions = VersionService(
      database: database, clock: clock, operators: access.operators, stops: content.revocations,
      scheduler: scheduler, didSettleDebts: didSettleDebts, didChangeCatalog: { feeds.wake() })
  }

  /// Adds the routes of feeds and of licenses.
  func addRoutes(to routes: inout ScopedRoutes) {
    FeedRoutes(feeds: feeds, settings: settings).add(to: &routes)
    LicenseRoutes(feeds: feeds).add(to: &routes)
  }
}

import ContentDelivery
import ContentGrants
import ContentPublishing
import Database
import PackageStorage
import RouteAccess
import ServiceRuntime

/// The grants: purchases that were proved, the tickets for them, and what becomes of both later.
struct GrantComponents: Sendable {
  private let infrastructure: DeliveryComponents.Infrastructure
  private let access: AccessComponents
  private let stores: StoreComponents
  let tickets: TicketIssuer
  let grants: GrantService
  let confirmation: GrantConfirmation
  /// Brings the stops of other nodes to this one; nil for the only server of a file.
  private let follower: StopFollower?

  init(
    on infrastructure: DeliveryComponents.Infrastructure, catalog: CatalogComponents,
    access: AccessComponents, content: ContentComponents, stores: StoreComponents,
    releases: ReleaseComponents, leases: ProcessLeases
  ) {
    self.infrastructure = infrastructure
    self.access = access
    self.stores = stores
    let configuration = infrastructure.configuration
    let releaseGuard = releases.releaseGuard
    tickets = TicketIssuer(settings: access.settings, clock: infrastructure.clock)
    grants = GrantService(
      grantStore: stores.grantStore, verifier: stores.proofs, catalog: catalog.cache, outbox: stores.outbox,
      tickets: tickets, stops: content.revocations, recorder: content.recorder, feeds: releases.feeds,
      sales: stores.sales, rules: catalog.rules, storeRules: stores.rules,
      publicURL: configuration.publicURL ?? "", storeGrace: configuration.storeGrace.duration,
      noteFailure: { try await releaseGuard.note($0) })
    confirmation = GrantConfirmation(
      grants: grants, lease: leases.lease("confirmation"), log: infrastructure.log)
    guard infrastructure.database.isShared else {
      follower = nil
      return
    }
    let follower = StopFollower(
      grants: grants, database: infrastructure.database, from: content.stopRevision,
      timer: infrastructure.timer, log: infrastructure.log,
      didChange: { [packages = content.packages, cache = infrastructure.storage.cache] digest in
        packages.close(digest)
        cache?.restore(digest)
      })
    // The list is the follower's, so that it must not keep it.
    content.revocations.follow { [weak follower] in follower?.note($0) }
    self.follower = follower
  }

  /// Follows the stops of all nodes, until the task is cancelled.
  func followStops() async {
    await follower?.run()
  }

  /// Writes down the dates of what stores repeated, until the task is cancelled.
  func keepLaterDates() async {
    await grants.grantStore.keepLaterDates(timer: infrastructure.timer, log: infrastructure.log)
  }

  /// Closes again what policies had closed before the start.
  func closeAfterStart() async {
    await grants.closeAfterStart(log: infrastructure.log)
  }

  /// Asks stores about proofs that were served while they were away, until the task is cancelled.
  func confirm() async {
    await confirmation.run(timer: infrastructure.timer)
  }

  /// Adds the routes for devices.
  func addRoutes(to routes: inout ScopedRoutes) {
    GrantRoutes(grants: grants, settings: access.settings, admission: access.admission).add(to: &routes)
  }

  /// Adds the routes for operators.
  func addOperatorRoutes(to routes: inout ScopedRoutes) {
    OperatorGrantRoutes(grants: grants).add(to: &routes)
    ExplanationRoutes(grants: grants, stores: stores.names).add(to: &routes)
  }
}

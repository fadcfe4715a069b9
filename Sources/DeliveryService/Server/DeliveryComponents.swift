import BlobStore
import ContentDelivery
import ContentGrants
import ContentPublishing
import CoreTypes
import Database
import DeliveryRecords
import HTTPClient
import Monitoring
import PackageStorage
import PaymentStores
import RouteAccess
import ServiceRuntime

/// The service's components, made from a configuration and joined: what answers requests, and what works
/// beside them. They stand in rooms; each room makes its own from the infrastructure and the rooms before it.
///
/// The lists of this type decide every order: in which components are made, routes are added, background work begins, and
/// metrics stand on their page.
struct DeliveryComponents: Sendable {
  /// The infrastructure that all components use.
  struct Infrastructure: Sendable {
    let configuration: DeliveryConfiguration
    let database: Database
    /// This server among those that share the database.
    let node: NodeMembership
    /// The incoming files.
    let blobs: BlobStore
    /// Where packages lie.
    let storage: PackageStorageComponents
    let client: HTTPClient
    let clock: any WallClock
    let timer: any MonotonicClock
    let log: Log
    let pools: DeliveryPools
    /// The configuration in effect, as operators read it.
    let listing: CurrentListing
    let laterDates = LaterDates()

    var shelf: any PackageShelf { storage.shelf }
  }

  let infrastructure: Infrastructure
  let catalog: CatalogComponents
  let access: AccessComponents
  let content: ContentComponents
  let leases: ProcessLeases
  let stores: StoreComponents
  let releases: ReleaseComponents
  let granting: GrantComponents
  let notifications: NotificationComponents
  let readers: ReaderComponents
  let publishing: PublishingComponents
  let upkeep: UpkeepComponents

  var admission: AdmissionControl { access.admission }
  var feeds: FeedService { releases.feeds }
  var grants: GrantService { granting.grants }
  var uploads: UploadService { publishing.uploads }
  var retention: Retention { upkeep.retention }

  /// Reads keys, revocations and open uploads from the state directory. Blocks.
  init(on infrastructure: Infrastructure) throws {
    self.infrastructure = infrastructure
    catalog = CatalogComponents(on: infrastructure)
    access = try AccessComponents(on: infrastructure)
    content = try ContentComponents(on: infrastructure, access: access)
    leases = ProcessLeases(on: infrastructure)
    stores = try StoreComponents(on: infrastructure, catalog: catalog, leases: leases)
    releases = try ReleaseComponents(
      on: infrastructure, catalog: catalog, access: access, content: content, stores: stores, leases: leases)
    granting = GrantComponents(
      on: infrastructure, catalog: catalog, access: access, content: content, stores: stores,
      releases: releases, leases: leases)
    notifications = try NotificationComponents(
      on: infrastructure, content: content, stores: stores, grants: granting.grants, leases: leases)
    publishing = try PublishingComponents(on: infrastructure, content: content, leases: leases)
    readers = try ReaderComponents(
      on: infrastructure, catalog: catalog, access: access,
      content: content.routes(noteMissing: { [scrubber = publishing.scrubber] in
        await scrubber.noteMissing($0)
      }),
      stores: stores, grants: granting.grants, scrubber: publishing.scrubber)
    upkeep = UpkeepComponents(on: infrastructure, leases: leases)
  }

  /// Runs the background work of all components; returns when the task is cancelled.
  func run() async {
    await withTaskGroup { group in
      group.addTask { await catalog.readAhead() }
      group.addTask { await stores.outbox.run() }
      group.addTask { await stores.sales.run() }
      group.addTask { await content.record() }
      group.addTask { await granting.keepLaterDates() }
      group.addTask { await content.sweepRevocations() }
      group.addTask { await granting.followStops() }
      group.addTask { await granting.closeAfterStart() }
      group.addTask { await access.admission.run() }
      group.addTask { await access.followTicketKeys() }
      group.addTask { await publishing.collect() }
      group.addTask { await publishing.shareUploads() }
      group.addTask { await releases.scheduler.run() }
      group.addTask { await granting.confirm() }
      group.addTask { await releases.feeds.run() }
      group.addTask { await readers.run() }
      group.addTask { await upkeep.forget() }
      group.addTask { await access.reportWrongKeys() }
      group.addTask { await publishing.scrubber.run() }
      group.addTask { await infrastructure.storage.fetch() }
      group.addTask { await infrastructure.storage.report(to: publishing.scrubber) }
      group.addTask { await notifications.readHistory() }
      group.addTask { await notifications.watchAcknowledgements() }
      group.addTask { await notifications.readVoidedPurchases() }
      group.addTask { await notifications.pollRefunds() }
      group.addTask { await upkeep.optimize() }
    }
  }

  /// Says whether this server shows the metrics of what lies in the database: the one of several that holds the lease.
  func speaksForAll(_ database: Database) -> @Sendable () async throws -> Bool {
    guard database.isShared else { return { true } }
    let lease = leases.lease("metrics")
    return { try await lease.isHeld() }
  }

  /// The sources of metrics, in the order of the page of metrics.
  var metricSources: [any MetricSource] {
    [
      access.admission, content.recorder, granting.tickets, content.revocations, stores.outbox,
      publishing.uploads, granting.grants, releases.feeds, stores.proofs, notifications.service,
      notifications.acknowledgements, notifications.google, publishing.scrubber, releases.releaseGuard,
      PackageCacheMetrics(cache: infrastructure.storage.cache),
    ]
  }
}

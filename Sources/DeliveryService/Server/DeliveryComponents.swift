import BlobStore
import Commerce
import Database
import HTTPClient
import CoreTypes
import Receipts
import ServiceRuntime

/// The service's components, made from a configuration and joined: what answers requests, and what works beside them.
struct DeliveryComponents: Sendable {
  /// What all components use.
  struct Infrastructure: Sendable {
    let configuration: DeliveryConfiguration
    let database: Database
    let blobs: BlobStore
    let client: HTTPClient
    let clock: any WallClock
    let timer: any MonotonicClock
    let log: Log
  }

  let infrastructure: Infrastructure
  let operators: OperatorKeys
  let settings: LiveSettings
  let meters: MeterRegistry
  let recorder: DeliveryRecorder
  let stops: RevocationList
  let outbox: Outbox
  let tickets: TicketIssuer
  let grants: GrantService
  let uploads: UploadService
  let releases: ReleaseScheduler
  let versions: VersionService
  let packages: OpenPackageCache
  let verifier: TicketVerifier
  let collector: GarbageCollector
  let collections: GarbageCollectionSchedule

  /// Reads keys, stops and open uploads from the state directory. Blocks.
  init(on infrastructure: Infrastructure) throws {
    self.infrastructure = infrastructure
    let configuration = infrastructure.configuration
    let (database, clock, timer) = (infrastructure.database, infrastructure.clock, infrastructure.timer)
    let operators = OperatorKeys(
      try configuration.namedOperatorKeys(), needsSecondKey: configuration.requireSecondKey ?? false)
    self.operators = operators

    let changes = Generation()
    settings = LiveSettings(
      try configuration.deliverySettings(
        keys: try TicketKeyFile.loadOrCreate(TicketKeyFile.path(in: configuration.state))),
      changes: changes)
    meters = MeterRegistry(timer: timer)
    recorder = DeliveryRecorder(meters: meters, database: database, timer: timer)
    let stops = RevocationList(meters: meters, changes: changes)
    self.stops = stops
    try database.readBlocking { connection in
      stops.restore(
        grants: try GrantTable.revoked(in: connection), contents: try BlockedContentTable.all(in: connection))
    }

    let store = try Self.store(on: infrastructure)
    let grantStore = GrantStore(database: database, clock: clock)
    outbox = Outbox(
      grantStore: grantStore, stores: [store.name: store], clock: timer, log: infrastructure.log)
    tickets = TicketIssuer(settings: settings, clock: clock)
    grants = GrantService(
      grantStore: grantStore, stores: [store.name: store], outbox: outbox, tickets: tickets, stops: stops,
      recorder: recorder, rules: EntitlementRules(), publicURL: configuration.publicURL ?? "",
      storePatience: configuration.storePatience.duration, timer: timer)

    uploads = try UploadService.open(
      database: database, blobs: infrastructure.blobs, clock: clock,
      limits: UploadLimits(
        lifetime: configuration.uploadLifetime.duration, quota: configuration.storageQuota?.bytes))
    releases = ReleaseScheduler(
      database: database, clock: clock, timer: timer, stops: stops, log: infrastructure.log)
    versions = VersionService(
      database: database, clock: clock, operators: operators, stops: stops, scheduler: releases)

    let packages = OpenPackageCache(blobs: infrastructure.blobs, database: database)
    self.packages = packages
    verifier = TicketVerifier(settings: settings, revocations: stops, clock: clock)
    collector = GarbageCollector(
      database: database, blobs: infrastructure.blobs, uploads: uploads, clock: clock,
      rules: GarbageCollector.Rules(
        grace: configuration.collectionGrace.duration,
        keepsWithdrawn: !(configuration.collectWithdrawn ?? false)),
      didRemove: { packages.close($0) })
    collections = GarbageCollectionSchedule(
      collector: collector, interval: configuration.collectionInterval.duration, timer: timer,
      log: infrastructure.log)
  }

  /// What goes on whether requests come or not; returns when the task is cancelled.
  func run() async {
    await withTaskGroup { group in
      group.addTask { await outbox.run() }
      group.addTask { await recorder.run(log: infrastructure.log) }
      group.addTask { await stops.run(clock: infrastructure.timer) }
      group.addTask { await collections.run() }
      group.addTask { await releases.run() }
    }
  }

  private static func store(on infrastructure: Infrastructure) throws -> any PaymentStoreClient {
    let store = infrastructure.configuration.store
    guard let name = StoreIdentifier(store.name) else {
      throw StartError("not a store's name: \(store.name)")
    }
    return VerifyReceiptStoreClient(
      name: name, url: store.url, credential: store.credential.revealed,
      policy: VerifyReceiptPolicy(bundleIdentifiers: Set(store.bundles), environments: [.sandbox]),
      client: infrastructure.client, timer: infrastructure.timer)
  }
}

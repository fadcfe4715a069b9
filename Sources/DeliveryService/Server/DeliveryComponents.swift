import BlobStore
import Commerce
import ContentCatalog
import ContentDelivery
import ContentGrants
import ContentPublishing
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import HTTPClient
import HTTPServer
import Monitoring
import PackageStorage
import PaymentStores
import PullboxAPI
import PullboxAPIServer
import Receipts
import RouteAccess
import ServiceRuntime

/// The service's components, made from a configuration and joined: what answers requests, and what works
/// beside them.
struct DeliveryComponents: Sendable {
  /// The infrastructure that all components use.
  struct Infrastructure: Sendable {
    let configuration: DeliveryConfiguration
    let database: Database
    /// The incoming files.
    let blobs: BlobStore
    /// Where packages lie.
    let shelf: any PackageShelf
    let client: HTTPClient
    let clock: any WallClock
    let timer: any MonotonicClock
    let log: Log
    let pools: DeliveryPools
    let laterDates = LaterDates()
  }

  let infrastructure: Infrastructure
  /// Names this process in leases.
  let process: String
  let catalog: CatalogCache
  let operators: OperatorKeys
  let settings: LiveSettings
  let admission: AdmissionControl
  let meters: MeterRegistry
  let recorder: DeliveryRecorder
  let revocations: RevocationList
  let outbox: Outbox
  let tickets: TicketIssuer
  let proofs: ProofVerifier
  let feeds: FeedService
  let sales: EmptySales
  let grants: GrantService
  let confirmation: GrantConfirmation
  let notifications: NotificationService
  let notificationHistory: NotificationHistory
  let acknowledgements: AcknowledgementAlarm
  let googleNotifications: GoogleNotificationService
  let voidedPurchases: VoidedPurchaseSweep
  let refundPoll: RefundPoll
  let storeDescriptions: [StoreStatusRoutes.Description]
  /// Those whose receipts a store takes.
  let applications: Set<ApplicationIdentifier>
  let uploads: UploadService
  let releases: ReleaseScheduler
  let versions: VersionService
  let releaseGuard: ReleaseGuard
  let packages: OpenPackageCache
  let verifier: TicketVerifier
  let collector: GarbageCollector
  let retention: Retention
  let scrubber: PackageScrubber

  /// Reads keys, revocations and open uploads from the state directory. Blocks.
  init(on infrastructure: Infrastructure) throws {
    self.infrastructure = infrastructure
    let configuration = infrastructure.configuration
    let (database, clock, timer) = (infrastructure.database, infrastructure.clock, infrastructure.timer)
    catalog = CatalogCache(database: database)

    let generation = Generation()
    settings = LiveSettings(
      try configuration.deliverySettings(
        keys: try TicketKeyFile.loadOrCreate(TicketKeyFile.path(in: configuration.state)), at: clock.now()),
      generation: generation)
    admission = AdmissionControl(try configuration.admissionLimits(), timer: timer)
    let settings = settings
    let keyring = try configuration.keyring()
    keyring.warn(infrastructure.log)
    let operators = OperatorKeys(
      keyring.keys, needsSecondKey: configuration.requireSecondKey ?? false,
      reviewsProducts: configuration.requireProductReview ?? false,
      wrongKeys: WrongKeys(timer: timer),
      client: { settings.client(of: $0) })
    self.operators = operators
    meters = MeterRegistry(timer: timer)
    recorder = DeliveryRecorder(meters: meters, database: database, timer: timer)
    let revocations = RevocationList(meters: meters, generation: generation)
    self.revocations = revocations
    let revoked = try database.readBlocking { connection in
      (
        grants: try GrantTable.revoked(in: connection), contents: try BlockedContentTable.all(in: connection),
        damaged: try PackageCheckTable.faulty(in: connection)
      )
    }
    revocations.restore(grants: revoked.grants, contents: revoked.contents, damaged: revoked.damaged)

    // No other process has this name, whatever it calls its node.
    let process = "\(try configuration.nodeName()) \(RandomBytes.token(bits: 64))"
    self.process = process
    func lease(_ name: String) -> WorkerLease {
      WorkerLease(name, holder: process, database: database, clock: clock)
    }

    let accesses = try configuration.paymentStores()
    let stores = Self.stores(accesses, on: infrastructure)
    applications = Set(
      accesses.flatMap(\.policy.bundleIdentifiers).compactMap { ApplicationIdentifier($0) })
    storeDescriptions = accesses.map { store in
      StoreStatusRoutes.Description(
        name: store.name, kind: store.kind.rawValue,
        environments: store.policy.environments.sorted { $0.rawValue < $1.rawValue })
    }
    let grantStore = GrantStore(
      database: database, clock: clock, laterDates: infrastructure.laterDates)
    let outbox = Outbox(
      grantStore: grantStore, stores: Dictionary(uniqueKeysWithValues: stores.map { ($0.name, $0) }),
      timer: timer,
      options: try configuration.outboxOptions(), sweepLease: lease("settling"), log: infrastructure.log)
    self.outbox = outbox
    tickets = TicketIssuer(settings: settings, clock: clock)
    proofs = ProofVerifier(stores: stores, clock: clock, timer: timer, log: infrastructure.log)
    let rules = EntitlementRules()
    let feeds = FeedService(
      database: database, catalog: catalog, rules: rules, settings: settings, clock: clock,
      timer: timer,
      pace: ReleasePace(
        window: configuration.releaseWindow?.duration, bandwidth: configuration.releaseBandwidth?.bytes),
      publicURL: configuration.publicURL ?? "",
      log: infrastructure.log)
    self.feeds = feeds
    let sales = EmptySales(
      at: Set(accesses.filter { $0.google != nil }.map(\.name)), grantStore: grantStore, catalog: catalog,
      rules: rules, timer: timer, log: infrastructure.log, didAdd: { outbox.wake() })
    self.sales = sales
    let didSettleDebts: @Sendable () -> Void = {
      outbox.sweep()
      sales.sweep()
    }
    let releaseGuard = ReleaseGuard(
      database: database, rule: try configuration.releaseStopRule(), clock: clock, stops: revocations,
      didSettleDebts: didSettleDebts, didChangeCatalog: { feeds.wake() }, log: infrastructure.log)
    self.releaseGuard = releaseGuard
    grants = GrantService(
      grantStore: grantStore, verifier: proofs, catalog: catalog, outbox: outbox, tickets: tickets,
      stops: revocations, recorder: recorder, feeds: feeds, sales: sales, rules: rules,
      storeRules: Dictionary(uniqueKeysWithValues: accesses.map { ($0.name, $0.rules) }),
      publicURL: configuration.publicURL ?? "", storeGrace: configuration.storeGrace.duration,
      noteFailure: { try await releaseGuard.note($0) })
    confirmation = GrantConfirmation(grants: grants, lease: lease("confirmation"), log: infrastructure.log)

    let grants = grants
    notifications = NotificationService(
      sources: stores.compactMap { ($0 as? SignedStoreClient)?.source }, database: database, clock: clock,
      log: infrastructure.log, takeIn: { _ = try await grants.applyRevocations(of: $0) },
      answerConsumptionRequest: { try await grants.answerConsumptionRequest(about: $0, until: $1) })
    acknowledgements = AcknowledgementAlarm(
      stores: accesses.map(\.name), database: database, clock: clock, log: infrastructure.log)
    notificationHistory = NotificationHistory(
      notifications: notifications, database: database, clock: clock, log: infrastructure.log,
      lease: lease("notifications"))
    let googleStores = stores.compactMap { $0 as? GoogleStoreClient }
    googleNotifications = GoogleNotificationService(
      stores: googleStores, database: database, clock: clock, timer: timer, log: infrastructure.log,
      takeIn: { _ = try await grants.applyRevocations(of: $0) })
    voidedPurchases = VoidedPurchaseSweep(
      stores: googleStores, database: database, clock: clock, log: infrastructure.log,
      lease: lease("refunds"), takeIn: { _ = try await grants.applyRevocations(of: $0) })
    refundPoll = RefundPoll(
      grants: grants, meters: meters, refunds: voidedPurchases,
      interval: try configuration.refundPollInterval(), log: infrastructure.log)

    let lifetimes = LifetimeClock(wall: clock, timer: timer, log: infrastructure.log)
    let packageLocks = PackageLocks()
    uploads = try UploadService.open(
      database: database, blobs: infrastructure.blobs, shelf: infrastructure.shelf,
      packageLocks: packageLocks,
      clock: lifetimes,
      limits: UploadLimits(
        lifetime: configuration.uploadLifetime.duration, quota: configuration.storageQuota?.bytes))
    releases = ReleaseScheduler(
      database: database, clock: clock, timer: timer, stops: revocations,
      didSettleDebts: didSettleDebts, didChangeCatalog: { feeds.wake() }, lease: lease("releases"),
      log: infrastructure.log)
    versions = VersionService(
      database: database, clock: clock, operators: operators, stops: revocations, scheduler: releases,
      didSettleDebts: didSettleDebts, didChangeCatalog: { feeds.wake() })

    let packages = OpenPackageCache(
      source: StoredPackages(shelf: infrastructure.shelf, database: database))
    self.packages = packages
    scrubber = PackageScrubber(
      database: database, shelf: infrastructure.shelf, stops: revocations, clock: clock, timer: timer,
      rules: PackageScrubber.Rules(
        interval: configuration.scrubInterval.duration, rate: configuration.scrubRate.bytes,
        keepsWithdrawn: !(configuration.collectWithdrawn ?? false)),
      log: infrastructure.log, didChange: { packages.close($0) })
    verifier = TicketVerifier(settings: settings, revocations: revocations, clock: clock)
    collector = GarbageCollector(
      database: database, shelf: infrastructure.shelf, locks: packageLocks, uploads: uploads,
      clock: lifetimes,
      rules: GarbageCollector.Rules(
        grace: configuration.gcGrace.duration,
        keepsWithdrawn: !(configuration.collectWithdrawn ?? false)),
      lease: lease("collection"), didRemove: { packages.close($0) })
    retention = Retention(
      database: database, clock: clock,
      rules: Retention.Rules(
        history: configuration.historyRetention.duration, calls: configuration.callRetention.duration,
        proofs: configuration.storeGrace.duration),
      lease: lease("retention"))
  }

  /// Runs the background work of all components; returns when the task is cancelled.
  func run() async {
    await withTaskGroup { group in
      group.addTask { await catalog.readAhead(log: infrastructure.log) }
      group.addTask { await outbox.run() }
      group.addTask { await sales.run() }
      group.addTask { await recorder.run(log: infrastructure.log) }
      group.addTask {
        await grants.grantStore.keepLaterDates(timer: infrastructure.timer, log: infrastructure.log)
      }
      group.addTask { await revocations.run(timer: infrastructure.timer, clock: infrastructure.clock) }
      group.addTask { await grants.closeAfterStart(log: infrastructure.log) }
      group.addTask { await admission.run() }
      group.addTask {
        await collector.run(
          every: infrastructure.configuration.gcInterval.duration, clock: infrastructure.timer,
          log: infrastructure.log)
      }
      group.addTask { await releases.run() }
      group.addTask { await confirmation.run(timer: infrastructure.timer) }
      group.addTask { await feeds.run() }
      group.addTask { await retention.run(timer: infrastructure.timer, log: infrastructure.log) }
      group.addTask {
        await WrongKeyReporter(
          wrongKeys: operators.wrongKeys, database: infrastructure.database, clock: infrastructure.clock,
          log: infrastructure.log
        ).run(timer: infrastructure.timer)
      }
      group.addTask { await scrubber.run() }
      group.addTask { await notificationHistory.run(timer: infrastructure.timer) }
      group.addTask { await acknowledgements.run(timer: infrastructure.timer) }
      group.addTask { await voidedPurchases.run(timer: infrastructure.timer) }
      group.addTask { await refundPoll.run(timer: infrastructure.timer) }
      group.addTask {
        await Worker(clock: infrastructure.timer).run(every: Self.optimizationInterval) {
          try await infrastructure.database.optimize()
        } onFailure: { error in
          infrastructure.log.warning("the database gathered no statistics", ["error": LogValue(error)])
        }
      }
    }
  }

  private static let optimizationInterval: Duration = .seconds(6 * 3600)

  /// The sources of metrics, in the order of the page of metrics.
  var metricSources: [any MetricSource] {
    [
      admission, recorder, tickets, revocations, outbox, uploads, grants, feeds, proofs, notifications,
      acknowledgements, googleNotifications, scrubber, releaseGuard,
    ]
  }

  private static func stores(
    _ accesses: [DeliveryConfiguration.StoreAccess], on infrastructure: Infrastructure
  ) -> [any PaymentStoreClient] {
    let reader = ReceiptReader(threads: infrastructure.pools.receipts)
    return accesses.map { store -> any PaymentStoreClient in
      if let google = store.google {
        return GoogleStoreClient(
          interface: GoogleInterfaceClient(
            access: google, client: infrastructure.client, clock: infrastructure.clock),
          memory: StoredGooglePurchases(
            database: infrastructure.database, laterDates: infrastructure.laterDates),
          clock: infrastructure.clock)
      }
      let receipts = VerifyReceiptStoreClient(
        name: store.name, access: store.access, policy: store.policy, rules: store.receipts,
        client: infrastructure.client, clock: infrastructure.clock, timer: infrastructure.timer,
        reader: reader)
      guard let signed = store.signed else { return receipts }
      let gate = SignedDataGate(
        store: store.name, access: signed.gate, client: infrastructure.client, clock: infrastructure.clock,
        timer: infrastructure.timer)
      let interface = signed.interface.map { access in
        StoreInterfaceClient(
          gate: gate, access: access, client: infrastructure.client, clock: infrastructure.clock,
          timer: infrastructure.timer)
      }
      return SignedStoreClient(
        receipts: receipts, gate: gate, interface: interface,
        // A store with a credential has a call of its own for that.
        finishesThere: store.access.credential == nil)
    }
  }
}

extension DeliveryComponents {
  /// Everything that is not answered on a loop.
  func routes(_ metrics: ServiceMetrics) -> ScopedRoutes {
    let (database, publicURL) = (infrastructure.database, infrastructure.configuration.publicURL ?? "")
    let catalog = Catalog(
      database: database, cache: catalog, clock: infrastructure.clock,
      saleRules: { [operators] in
        SaleMachine.Rules(
          requiresReview: operators.reviewsProducts, requiresSecondKey: operators.needsSecondKey)
      },
      applications: applications, didChange: { [feeds] in feeds.wake() },
      didChangePolicy: { [grants] in try await grants.applyPolicy(of: $0) })
    let publisher = VersionPublisher(
      database: database, shelf: infrastructure.shelf, uploads: uploads, collector: collector,
      scrubber: scrubber, clock: infrastructure.clock, checks: infrastructure.pools.checks)
    let answers = IdempotentAnswers(
      database: database, clock: infrastructure.clock, process: process, log: infrastructure.log)
    var routes = ScopedRoutes(keys: operators, answers: answers)
    CatalogRoutes(catalog: catalog, settings: settings).add(to: &routes)
    PreviewRoutes(database: database, clock: infrastructure.clock).add(to: &routes)
    GrantRoutes(grants: grants, settings: settings, admission: admission).add(to: &routes)
    NotificationRoutes(notifications: notifications, googleNotifications: googleNotifications).add(
      to: &routes)
    FeedRoutes(feeds: feeds, settings: settings).add(to: &routes)
    UploadRoutes(uploads: uploads, answers: answers).add(to: &routes)
    PublishingRoutes(
      publisher: publisher, versionService: versions,
      estimator: UpdateSizeEstimator(database: database, checks: infrastructure.pools.checks)
    ).add(to: &routes)
    OperatorGrantRoutes(grants: grants).add(to: &routes)
    ExplanationRoutes(grants: grants, stores: storeDescriptions.map(\.name)).add(to: &routes)
    ContentRoutes(
      packages: packages, noteMissing: { [scrubber] in await scrubber.noteMissing($0) }, verifier: verifier,
      meters: meters, timer: infrastructure.timer, publicURL: publicURL
    )
    .add(to: &routes)
    if infrastructure.configuration.diagnostics {
      DiagnosticRoutes(
        settings: settings, clock: infrastructure.clock, timer: infrastructure.timer,
        file: DiagnosticFile(state: infrastructure.configuration.state)
      ).add(to: &routes)
    }
    GarbageCollectionRoutes(collector: collector).add(to: &routes)
    PackageScrubRoutes(scrubber: scrubber).add(to: &routes)
    OperationsRoutes(database: database, metrics: metrics).add(to: &routes)
    ListRoutes(database: database, recorder: recorder).add(to: &routes)
    SalesReportRoutes(database: database, clock: infrastructure.clock).add(to: &routes)
    OutboxRoutes(outbox: outbox).add(to: &routes)
    StoreStatusRoutes(
      stores: storeDescriptions, proofs: proofs, outbox: outbox, database: database,
      clock: infrastructure.clock
    ).add(to: &routes)
    let routeAdmission = RouteAdmission(control: admission, settings: settings)
    routes.wrap { routeAdmission.middleware(for: $0) }
    return routes
  }

  /// Answers off the loops, counts what it answered, and logs what failed.
  func handler(of routes: ScopedRoutes, _ metrics: ServiceMetrics) -> ForwardedClientHandler {
    let (log, requests) = (infrastructure.log, metrics.routes)
    let router = routes.router(
      reporting: { request, error in
        log.error(
          "request failed",
          [
            "request": LogValue(request.id), "method": LogValue(request.method.rawValue),
            "path": LogValue(AccessLine.redacted(request.path)), "error": LogValue(error),
          ])
      },
      revising: { problem in
        var generator = SystemRandomNumberGenerator()
        return problem.spreadingReturns(using: &generator)
      },
      observing: { route, _, response, problem, duration in
        requests.count(
          route: route, status: response.status.rawValue, problem: problem?.code?.text, duration: duration)
      })
    return ForwardedClientHandler(
      handler: CrossOriginHandler(router: router, settings: settings), settings: settings)
  }

  /// Answers on the loops.
  func contentHandler(_ metrics: ServiceMetrics) -> ContentHandler {
    ContentHandler(
      packages: packages, verifier: verifier, meters: meters, timer: infrastructure.timer,
      metrics: InlineMetrics(includedIn: metrics.routes))
  }
}

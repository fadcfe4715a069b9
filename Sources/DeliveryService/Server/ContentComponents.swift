import ContentDelivery
import ContentGrants
import Crypto
import Database
import DeliveryRecords
import Monitoring
import RouteAccess

/// The delivery of content: packages, the tickets that open them, and what is counted and refused meanwhile.
struct ContentComponents: Sendable {
  private let infrastructure: DeliveryComponents.Infrastructure
  private let settings: LiveSettings
  let meters: MeterRegistry
  let recorder: DeliveryRecorder
  let revocations: RevocationList
  /// The revision of the log of stops as of which the list was read.
  let stopRevision: Int64
  let packages: OpenPackageCache
  let verifier: TicketVerifier

  /// Reads from the database what tickets open no more. Blocks.
  init(on infrastructure: DeliveryComponents.Infrastructure, access: AccessComponents) throws {
    self.infrastructure = infrastructure
    let (database, clock, timer) = (infrastructure.database, infrastructure.clock, infrastructure.timer)
    settings = access.settings
    let meters = MeterRegistry(timer: timer)
    self.meters = meters
    let node = infrastructure.node
    recorder = DeliveryRecorder(
      meters: meters, database: database, timer: timer, clock: clock, node: node.number,
      hours: DeliveredHours(), answer: { try await node.answer(sentUntil: $0) },
      log: infrastructure.log)
    let revocations = RevocationList(meters: meters, generation: access.generation)
    self.revocations = revocations
    let revoked = try database.readBlocking { connection in
      (
        grants: try GrantTable.revoked(in: connection), contents: try BlockedContentTable.all(in: connection),
        damaged: try PackageCheckTable.faulty(in: connection), revision: try StopLog.revision(in: connection)
      )
    }
    stopRevision = revoked.revision
    revocations.restore(grants: revoked.grants, contents: revoked.contents, damaged: revoked.damaged)
    packages = OpenPackageCache(source: infrastructure.storage.source)
    verifier = TicketVerifier(settings: access.settings, revocations: revocations, clock: clock)
  }

  /// Records what was sent, until the task is cancelled.
  func record() async {
    await recorder.run(log: infrastructure.log)
  }

  /// Ends what was admitted before a revocation and began after it, until the task is cancelled.
  func sweepRevocations() async {
    await revocations.run(timer: infrastructure.timer, clock: infrastructure.clock)
  }

  /// Returns the routes of content, which send packages.
  func routes(noteMissing: @escaping @Sendable (SHA256Digest) async -> Bool) -> ContentRoutes {
    ContentRoutes(
      packages: packages, noteMissing: noteMissing, verifier: verifier, meters: meters,
      timer: infrastructure.timer, publicURL: infrastructure.configuration.publicURL ?? "")
  }

  /// Adds the routes of content, and those of diagnostics where the configuration has them. `noteMissing` is told of a package
  /// whose bytes are not there; it answers whether the package was set aside as damaged.
  func addRoutes(
    to routes: inout ScopedRoutes, noteMissing: @escaping @Sendable (SHA256Digest) async -> Bool
  ) {
    let configuration = infrastructure.configuration
    self.routes(noteMissing: noteMissing).add(to: &routes)
    if configuration.diagnostics {
      DiagnosticRoutes(
        settings: settings, clock: infrastructure.clock, timer: infrastructure.timer,
        file: DiagnosticFile(state: configuration.state)
      ).add(to: &routes)
    }
  }

  /// Answers on the loops.
  func handler(_ metrics: ServiceMetrics) -> ContentHandler {
    ContentHandler(
      packages: packages, verifier: verifier, meters: meters, timer: infrastructure.timer,
      metrics: InlineMetrics(of: ContentRoutes.pattern, includedIn: metrics.routes))
  }
}

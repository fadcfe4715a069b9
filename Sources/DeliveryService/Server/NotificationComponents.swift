import ContentGrants
import PaymentStores
import RouteAccess

/// The news from payment stores: notifications that they post, those that got lost, and refunds that are looked for.
struct NotificationComponents: Sendable {
  private let infrastructure: DeliveryComponents.Infrastructure
  /// The notifications that stores sign.
  let service: NotificationService
  let acknowledgements: AcknowledgementAlarm
  let history: NotificationHistory
  /// The notifications of Google's.
  let google: GoogleNotificationService
  let voidedPurchases: VoidedPurchaseSweep
  let refundPoll: RefundPoll

  init(
    on infrastructure: DeliveryComponents.Infrastructure, content: ContentComponents,
    stores: StoreComponents, grants: GrantService, leases: ProcessLeases
  ) throws {
    self.infrastructure = infrastructure
    let (database, clock) = (infrastructure.database, infrastructure.clock)
    let (timer, log) = (infrastructure.timer, infrastructure.log)
    service = NotificationService(
      sources: stores.clients.compactMap { ($0 as? SignedStoreClient)?.source }, database: database,
      clock: clock, log: log, takeIn: { _ = try await grants.applyRevocations(of: $0) },
      answerConsumptionRequest: { try await grants.answerConsumptionRequest(about: $0, until: $1) })
    acknowledgements = AcknowledgementAlarm(stores: stores.names, database: database, clock: clock, log: log)
    history = NotificationHistory(
      notifications: service, database: database, clock: clock, log: log,
      lease: leases.lease("notifications"))
    let googleStores = stores.clients.compactMap { $0 as? GoogleStoreClient }
    google = GoogleNotificationService(
      stores: googleStores, database: database, clock: clock, timer: timer, log: log,
      takeIn: { _ = try await grants.applyRevocations(of: $0) })
    voidedPurchases = VoidedPurchaseSweep(
      stores: googleStores, database: database, clock: clock, log: log, lease: leases.lease("refunds"),
      takeIn: { _ = try await grants.applyRevocations(of: $0) })
    refundPoll = RefundPoll(
      grants: grants, meters: content.meters, refunds: voidedPurchases,
      interval: try infrastructure.configuration.refundPollInterval(), log: log)
  }

  /// Reads the histories of stores for what got lost, until the task is cancelled.
  func readHistory() async { await history.run(timer: infrastructure.timer) }

  /// Warns of purchases that are about to be taken back, until the task is cancelled.
  func watchAcknowledgements() async { await acknowledgements.run(timer: infrastructure.timer) }

  /// Looks for purchases that Google has voided, until the task is cancelled.
  func readVoidedPurchases() async { await voidedPurchases.run(timer: infrastructure.timer) }

  /// Looks for refunds of what is being sent, until the task is cancelled.
  func pollRefunds() async { await refundPoll.run(timer: infrastructure.timer) }

  /// Adds the routes that stores post to.
  func addRoutes(to routes: inout ScopedRoutes) {
    NotificationRoutes(notifications: service, googleNotifications: google).add(to: &routes)
  }
}

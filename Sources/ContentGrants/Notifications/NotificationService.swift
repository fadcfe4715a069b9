package import Commerce
package import CoreTypes
package import Database
import DeliveryRecords
package import Monitoring
package import PaymentStores
import PullboxAPI
import Receipts
package import ServiceRuntime
import Synchronization

/// The notifications that stores send by themselves: verified, taken in, written down, and only then acknowledged. The
/// store's word on a transaction counts from the date at which it was signed, so the order of arrival and repetitions change
/// nothing.
package final class NotificationService: Sendable {
  /// A store that tells, and how it is asked what was missed.
  package struct Source: Sendable {
    /// Verifies what the store signs.
    package var gate: SignedDataGate
    /// Nil for a store without a key.
    package var interface: StoreInterfaceClient?
  }

  /// The outcome of a notification that arrived, for the metric.
  package enum Outcome: String, CaseIterable, Hashable, Sendable {
    /// New, and taken in.
    case counted
    /// Known by its UUID. It is acknowledged and changes nothing.
    case duplicate
    /// No notification, or one without what every notification has.
    case malformed
    /// Signed by none of the roots, or with a certificate that does not hold.
    case notAuthentic = "not-authentic"
    /// Genuine, and about another application.
    case wrongApplication = "wrong-application"
    /// Genuine, and of an environment that the store's configuration does not take.
    case wrongEnvironment = "wrong-environment"
    /// It could not be judged now. The store sends it again.
    case undetermined
  }

  /// Bytes of a notification's signed text: it holds two more, each in base 64 once again.
  package static let maximumLength = 262_144
  private static let maximumIdentifierLength = 100

  /// The stores, in the order of the configuration.
  package let sources: [Source]
  private let database: Database
  private let clock: any WallClock
  private let log: Log
  /// The one way by which what a store says of transactions takes effect.
  private let takeIn: @Sendable ([VerifiedTransaction]) async throws -> Void
  /// Tells the store what was delivered of a purchase, until that moment; answers whether that may be told.
  private let answerConsumptionRequest: @Sendable (TransactionKey, Timestamp) async throws -> Bool
  private let outcomes = Mutex<[Outcome: Int]>([:])

  /// Creates the service.
  ///
  /// - Parameters:
  ///   - sources: the stores whose notifications are taken.
  ///   - takeIn: writes a statement down and lets it take effect; where it throws, the notification is not
  ///     acknowledged.
  ///   - answerConsumptionRequest: tells the store what was delivered of a purchase, until that moment.
  package init(
    sources: [Source], database: Database, clock: any WallClock, log: Log,
    takeIn: @escaping @Sendable ([VerifiedTransaction]) async throws -> Void,
    answerConsumptionRequest: @escaping @Sendable (TransactionKey, Timestamp) async throws -> Bool = { _, _ in
      false
    }
  ) {
    self.sources = sources
    self.database = database
    self.clock = clock
    self.log = log
    self.takeIn = takeIn
    self.answerConsumptionRequest = answerConsumptionRequest
  }

  /// Takes in a notification that was posted here, or found in the store's history, once. Answers whether it is new;
  /// throws a `Problem` for what is no notification for this server, and then nothing is written.
  @discardableResult
  package func receive(_ text: String, isOfHistory: Bool = false) async throws -> Bool {
    guard !sources.isEmpty else {
      throw Problem(.storeUnknown, "no store of this server has roots, under which notifications are signed")
    }
    do {
      let (gate, notification) = try await verify(text, isOfHistory: isOfHistory)
      let isNew = try await take(notification, by: gate)
      count(isNew ? .counted : .duplicate)
      return isNew
    } catch let refusal as StoreRefusal {
      count(Self.outcome(of: refusal))
      if let cause = refusal.cause {
        log.warning("a notification cannot be judged", ["error": LogValue(cause)])
      }
      throw refusal.problem
    }
  }

  /// The notification, and the store that it is of: the first whose applications and environments it names and under
  /// whose roots it is signed. Throws the last refusal.
  private func verify(
    _ text: String, isOfHistory: Bool
  ) async throws(StoreRefusal) -> (gate: SignedDataGate, notification: SignedNotification) {
    let claim: SignedNotification
    do {
      claim = try SignedData(text: text, maximumLength: Self.maximumLength).claimed(
        as: SignedNotification.self)
    } catch {
      throw .final(.receiptMalformed, "\(error)", onStoresWord: false)
    }
    let content = claim.content
    let named = sources.filter { content?.bundleId.map($0.gate.access.bundles.contains) ?? false }
    let counting = named.filter { source in
      content?.environment?.counting.map(source.gate.access.environments.contains) ?? false
    }
    // A genuine one for others is told apart from a forged one.
    let candidates = counting.isEmpty ? (named.isEmpty ? sources : named) : counting
    var last = StoreRefusal.final(.receiptNotAuthentic, onStoresWord: false)
    for candidate in candidates {
      do throws(StoreRefusal) {
        let gate = isOfHistory ? candidate.gate.ofHistory : candidate.gate
        return (gate, try await verify(text, by: gate))
      } catch {
        last = error
      }
    }
    throw last
  }

  /// Verifies a notification under the roots of one store, and that it is about the store's application and
  /// environment.
  private func verify(
    _ text: String, by gate: SignedDataGate
  ) async throws(StoreRefusal) -> SignedNotification {
    let notification = try await gate.payload(
      of: text, upTo: Self.maximumLength, as: SignedNotification.self)
    guard let content = notification.content else {
      throw .final(.receiptMalformed, "the notification is about nothing that is known", onStoresWord: false)
    }
    try gate.requireApplication(content.bundleId)
    try gate.requireEnvironment(content.environment)
    try gate.requireNumber(content.appAppleId, in: content.environment)
    return notification
  }

  /// Takes the notification in unless its UUID is known; false where it is.
  private func take(_ notification: SignedNotification, by gate: SignedDataGate) async throws -> Bool {
    guard let uuid = notification.notificationUUID, !uuid.isEmpty,
      uuid.utf8.count <= Self.maximumIdentifierLength, let type = notification.notificationType?.rawValue,
      type.utf8.count <= Self.maximumIdentifierLength,
      notification.subtype.map({ $0.utf8.count <= Self.maximumIdentifierLength }) ?? true,
      ![uuid, type, notification.subtype ?? ""].contains(where: { $0.utf8.contains(0) }),
      let signed = notification.signedDate?.timestamp,
      let environment = notification.content?.environment?.counting
    else {
      throw StoreRefusal.final(
        .receiptMalformed, "the notification lacks what every notification has", onStoresWord: false)
    }
    let store = gate.store
    let isKnown = try await database.read { connection in
      try NotificationTable.contains(uuid, of: store, in: connection)
    }
    if isKnown { return false }
    let statement = try await statement(of: notification, by: gate)
    // A repetition after this and before the row changes nothing: an older word yields, and the same one stays.
    if let statement { try await takeIn([statement]) }
    if notification.notificationType == .consumptionRequest, let statement {
      try await answerConsumption(of: statement.key, signed: signed)
    }
    let record = NotificationTable.Record(
      store: store, uuid: uuid, type: type, subtype: notification.subtype, signed: signed,
      environment: environment, transaction: statement?.id, effect: statement == nil ? .none : .statement,
      received: clock.now())
    // What it says was taken in before, with the locks of its transactions.
    return try await database.write(locking: []) { connection in
      try NotificationTable.insert(record, in: connection)
    }
  }

  /// A question that is older than the store waits for its answer is none any more.
  static let longestConsumptionWait: Duration = .seconds(12 * 3600)

  /// Has the store told what was delivered, where it can be told, still waits, and the customer agreed. Logs
  /// why not.
  private func answerConsumption(of transaction: TransactionKey, signed: Timestamp) async throws {
    let fields: KeyValuePairs<String, LogValue> = [
      "store": LogValue(transaction.store), "transaction": LogValue(transaction.id),
    ]
    guard sources.contains(where: { $0.gate.store == transaction.store && $0.interface != nil }) else {
      log.warning("a store asks what was delivered, and there is no key to its interface", fields)
      return
    }
    let end = signed + Self.longestConsumptionWait
    guard end > clock.now() else {
      log.warning("a store asked what was delivered more than 12 hours ago", fields)
      return
    }
    if try await !answerConsumptionRequest(transaction, end) {
      log.info("a store is not told what was delivered: its customer has not agreed to it", fields)
    }
  }

  /// Returns the notification's statement on a transaction; nil when it is about none. Throws a refusal for a transaction of
  /// another application or environment.
  private func statement(
    of notification: SignedNotification, by gate: SignedDataGate
  ) async throws(StoreRefusal) -> VerifiedTransaction? {
    guard let text = notification.data?.signedTransactionInfo else { return nil }
    let transaction = try await gate.transaction(text)
    var renewal: SignedRenewalInfo?
    if let text = notification.data?.signedRenewalInfo {
      renewal = try await gate.renewal(text, of: transaction)
    }
    guard let vouched = transaction.vouched(by: gate.store, renewal: renewal) else {
      throw .final(
        .receiptMalformed, "the notification's transaction lacks what every transaction has",
        onStoresWord: false)
    }
    guard let signed = notification.signedDate?.timestamp, signed < vouched.asOf else { return vouched }
    // Parts that were signed later than the whole still say what held at its event; a refund that they tell was known.
    return vouched.revised(
      revokedDate: vouched.revokedDate, asOf: [signed, vouched.revokedDate].compactMap { $0 }.max() ?? signed)
  }

  private func count(_ outcome: Outcome) {
    outcomes.locked { $0[outcome, default: 0] += 1 }
  }

  private static func outcome(of refusal: StoreRefusal) -> Outcome {
    switch refusal.problem.code {
    case .receiptMalformed: .malformed
    case .receiptWrongApplication: .wrongApplication
    case .receiptWrongEnvironment: .wrongEnvironment
    case .receiptNotAuthentic: .notAuthentic
    default: .undetermined
    }
  }
}

extension NotificationService: MetricSource {
  /// Adds the notifications since the start, by their outcome.
  package func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter(
        "pullbox_notifications_total", help: "Notifications of stores, by what became of them.",
        labels: ["outcome"]
      ) {
        let outcomes = self.outcomes.locked { $0 }
        return Outcome.allCases.map { .init(outcomes[$0] ?? 0, labels: [$0.rawValue]) }
      }
    ])
  }
}

extension SignedStoreClient {
  /// The same store as one that tells by itself.
  package var source: NotificationService.Source { .init(gate: gate, interface: interface) }
}

package import Commerce
package import CoreTypes
import Crypto
package import Database
import DeliveryRecords
package import Monitoring
package import PaymentStores
import PullboxAPI
import Receipts
package import ServiceRuntime
import Synchronization

/// The notifications that Google Play posts through Pub/Sub: each says that something happened to a purchase. A token
/// identifies the caller. The service then asks the store for the purchase's state, takes its word in, writes the message
/// down, and only then acknowledges it: a message that could not be followed comes again. The order of arrival and
/// repetitions change nothing. docs/stores.md has the set-up at Google.
package final class GoogleNotificationService: Sendable {
  /// The outcome of a message, for the metric.
  package enum Outcome: String, CaseIterable, Hashable, Sendable {
    /// New, and taken in.
    case counted
    /// Known by its identifier. It is acknowledged and changes nothing.
    case duplicate
    /// No message of Pub/Sub, or none of Google Play's in it.
    case malformed
    /// The token is missing, or was made by or for another party.
    case notAuthentic = "not-authentic"
    /// It is about a package that no store of this server has.
    case wrongApplication = "wrong-application"
    /// The store, or the keys of tokens, could not be asked. Pub/Sub sends the message again.
    case undetermined
  }

  /// A store whose notifications are taken.
  package struct Source: Sendable {
    /// The store whose purchases the messages are about.
    package var store: GoogleStoreClient
    /// The claims that a token of its sender must have.
    package var notifications: GoogleStoreAccess.Notifications
    /// The keys that such tokens are signed with.
    package var keys: IdentityKeyCache
  }

  /// Every store of Google's kind, with or without notifications.
  package let stores: [GoogleStoreClient]
  private let sources: [Source]
  private let database: Database
  private let clock: any WallClock
  private let log: Log
  /// The one way by which what a store says of transactions takes effect.
  private let takeIn: @Sendable ([VerifiedTransaction]) async throws -> Void
  private let outcomes = Mutex<[Outcome: Int]>([:])

  /// Creates the service for those of the stores that are configured to take notifications. `takeIn` throws
  /// where a statement cannot be written down, so that the message comes again.
  package init(
    stores: [GoogleStoreClient], database: Database, clock: any WallClock, timer: any MonotonicClock,
    log: Log,
    takeIn: @escaping @Sendable ([VerifiedTransaction]) async throws -> Void
  ) {
    self.stores = stores
    sources = stores.compactMap { store in
      store.interface.access.notifications.map { notifications in
        Source(
          store: store, notifications: notifications,
          keys: IdentityKeyCache(
            interface: store.interface, address: notifications.keysAddress, timer: timer))
      }
    }
    self.database = database
    self.clock = clock
    self.log = log
    self.takeIn = takeIn
  }

  /// Takes in a message that was posted here, once. Answers whether it is new; throws a `Problem` for what is none for this
  /// server, and for what the store cannot be asked about now, and then nothing is written.
  @discardableResult
  package func receive(_ body: [UInt8], bearing token: String?) async throws -> Bool {
    guard !sources.isEmpty else {
      throw Problem(.storeUnknown, "no store of this server takes notifications of Google's")
    }
    do {
      let callers = try await sources(known: token)
      let (message, notification) = try Self.read(body)
      guard let source = callers.first(where: { $0.store.interface.access.package == notification.package })
      else { throw StoreRefusal.final(.receiptWrongApplication, onStoresWord: false) }
      let isNew = try await take(message, notification, by: source.store)
      count(isNew ? .counted : .duplicate)
      return isNew
    } catch let refusal as StoreRefusal {
      count(Self.outcome(of: refusal))
      if let cause = refusal.cause {
        log.warning("a notification cannot be followed", ["error": LogValue(cause)])
      }
      throw refusal.problem
    }
  }

  /// The stores for whose notifications the token was made. Throws the last refusal.
  private func sources(known token: String?) async throws(StoreRefusal) -> [Source] {
    guard let token else {
      throw .final(.receiptNotAuthentic, "a notification bears a token of its sender's", onStoresWord: false)
    }
    var callers: [Source] = []
    var last = StoreRefusal.final(.receiptNotAuthentic, onStoresWord: false)
    for source in sources {
      do throws(StoreRefusal) {
        try await source.keys.check(token, source.notifications.expected, at: clock.now())
        callers.append(source)
      } catch {
        last = error
      }
    }
    guard callers.isEmpty else { return callers }
    throw last
  }

  /// Reads the message and the notification in it. Refuses what is neither as malformed.
  private static func read(
    _ body: [UInt8]
  ) throws(StoreRefusal) -> (message: GooglePushMessage, notification: GoogleNotification) {
    do {
      let message = try GooglePushMessage(body: body)
      return (message, try GoogleNotification(data: message.data))
    } catch {
      throw .final(.receiptMalformed, "\(error)", onStoresWord: false)
    }
  }

  /// Takes the message in unless its identifier is known; false where it is.
  private func take(
    _ message: GooglePushMessage, _ notification: GoogleNotification, by store: GoogleStoreClient
  ) async throws -> Bool {
    let name = store.name
    let isKnown = try await database.read { connection in
      try NotificationTable.contains(message.identifier, of: name, in: connection)
    }
    if isKnown { return false }
    let statements = try await statements(of: notification, by: store)
    // A repetition after this and before the row changes nothing: the store's answer is the state, not a change.
    if !statements.isEmpty { try await takeIn(statements) }
    let first = statements.first
    let record = NotificationTable.Record(
      store: name, uuid: message.identifier, type: notification.kind, subtype: nil,
      signed: notification.date, environment: first?.environment ?? .production, transaction: first?.id,
      effect: first == nil ? .none : .statement, received: clock.now())
    // What it says was taken in before, with the locks of its transactions.
    return try await database.write(locking: []) { connection in
      try NotificationTable.insert(record, in: connection)
    }
  }

  /// Returns the store's statements now on the purchase that the notification is about; none where it is about no purchase.
  private func statements(
    of notification: GoogleNotification, by store: GoogleStoreClient
  ) async throws(StoreRefusal) -> [VerifiedTransaction] {
    switch notification.subject {
    case .product(let token): try await current(token, .product, by: store)
    case .subscription(let token): try await current(token, .subscription, by: store)
    // Which part of a quantity was given back does not change what the order opens.
    case .voided(_, order: _, isSubscription: _, isPartial: true), .test, nil: []
    case .voided(let token, let order, let isSubscription, isPartial: false):
      try await store.voided(
        order, token, isSubscription ? .subscription : .product, at: notification.date)
    }
  }

  private func current(
    _ token: GooglePurchaseToken, _ kind: GooglePurchaseKind, by store: GoogleStoreClient
  ) async throws(StoreRefusal) -> [VerifiedTransaction] {
    do {
      guard let purchase = try await store.purchase(with: token, of: kind),
        store.interface.access.environments.contains(purchase.environment)
      else { return [] }
      return try await store.taken(purchase)
    } catch {
      // The store forgets purchases that are long over.
      guard case .final = error.kind else { throw error }
      return []
    }
  }

  private func count(_ outcome: Outcome) {
    outcomes.locked { $0[outcome, default: 0] += 1 }
  }

  private static func outcome(of refusal: StoreRefusal) -> Outcome {
    switch refusal.problem.code {
    case .receiptMalformed: .malformed
    case .receiptWrongApplication: .wrongApplication
    case .receiptNotAuthentic: .notAuthentic
    default: .undetermined
    }
  }
}

extension GoogleNotificationService: MetricSource {
  /// Adds the notifications of Google Play since the start, by their outcome.
  package func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter(
        "pullbox_google_notifications_total",
        help: "Notifications of Google Play, by what became of them.", labels: ["outcome"]
      ) {
        let outcomes = self.outcomes.locked { $0 }
        return Outcome.allCases.map { .init(outcomes[$0] ?? 0, labels: [$0.rawValue]) }
      }
    ])
  }
}

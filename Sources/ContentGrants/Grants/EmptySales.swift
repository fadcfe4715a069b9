package import Commerce
package import ContentCatalog
package import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
package import Entitlements
import Monitoring
import PullboxAPI
package import ServiceRuntime
import Synchronization

/// Tells stores that take purchases back of those that leave nothing to deliver: once a store has told of a purchase, a device has
/// completed something, or a version was withdrawn, and again when half of the time is over that the store gives. The outbox
/// has one call for each purchase, whatever asks for it and however often.
package final class EmptySales: Sendable {
  /// All purchases that wait are looked at this often, for what was not noted.
  package static let interval: Duration = .seconds(3600)
  /// Noted transactions, at most; where there are more, all purchases that wait are looked at.
  static let maximumNoted = 10_000
  /// Two looks at all of them are this far apart at least, whatever is about to be taken back.
  private static let shortestPause: Duration = .seconds(1)

  private struct State {
    var noted: Set<TransactionKey> = []
    var nextSweep: MonotonicInstant?
  }

  private let stores: Set<StoreIdentifier>
  private let grantStore: GrantStore
  private let catalog: CatalogCache
  private let rules: EntitlementRules
  private let timer: any MonotonicClock
  private let log: Log
  private let didAdd: @Sendable () -> Void
  private let worker: Worker
  private let state = Mutex(State())

  /// `stores` are those that take back what they are not told of; `didAdd` is called when the outbox has a new call.
  package init(
    at stores: Set<StoreIdentifier>, grantStore: GrantStore, catalog: CatalogCache, rules: EntitlementRules,
    timer: any MonotonicClock, log: Log, didAdd: @escaping @Sendable () -> Void
  ) {
    self.stores = stores
    self.grantStore = grantStore
    self.catalog = catalog
    self.rules = rules
    self.timer = timer
    self.log = log
    self.didAdd = didAdd
    worker = Worker(clock: timer)
  }

  /// Something became of these: their customers' purchases are looked at soon. Those of stores that take
  /// nothing back are ignored. Takes a lock for a moment, and may be called on any thread. More than
  /// ``maximumNoted`` turn into a look at all.
  package func note(_ transactions: some Sequence<TransactionKey>) {
    let concerned = transactions.filter { stores.contains($0.store) }
    guard !concerned.isEmpty else { return }
    state.locked { state in
      state.noted.formUnion(concerned)
      if state.noted.count > Self.maximumNoted {
        state.noted = []
        state.nextSweep = nil
      }
    }
    worker.wake()
  }

  /// A version was withdrawn, or fewer devices get it: all purchases that wait are looked at soon.
  package func sweep() {
    state.locked { $0.nextSweep = nil }
    worker.wake()
  }

  /// Nothing is noted that it has not looked at, for tests.
  var isIdle: Bool {
    worker.standing != .working && state.locked { $0.noted.isEmpty && $0.nextSweep != nil }
  }

  /// Works until the task is cancelled. What fails is logged, and tried again.
  package func run() async {
    guard !stores.isEmpty else { return }
    await worker.run(look) { [log] error in
      log.warning("purchases that leave nothing to deliver cannot be looked for", ["error": LogValue(error)])
    }
  }

  /// Looks at what was noted, or at all that wait where that is due. Where it throws, what was noted is noted
  /// again.
  private func look() async throws -> Worker.Next {
    let now = timer.now()
    let (noted, isSweep) = state.locked { state in
      defer { state.noted = [] }
      let isSweep = state.nextSweep.map { $0 <= now } ?? true
      if isSweep { state.nextSweep = now + Self.interval }
      return (state.noted, isSweep)
    }
    do {
      let waiting = try await waiting(noted, isSweep: isSweep)
      for (customer, purchases) in Dictionary(grouping: waiting, by: \.customer) {
        for purchases in Dictionary(grouping: purchases, by: { Place(of: $0.transaction) }).values {
          try await settle(purchases, of: customer)
        }
      }
      return plan(after: waiting)
    } catch {
      state.locked { state in
        state.noted.formUnion(noted)
        if isSweep { state.nextSweep = nil }
      }
      throw error
    }
  }

  /// The next look at all that wait is when the first of these is pressing, at the latest, or when the clock comes to its date.
  private func plan(after waiting: [AcknowledgementTable.Waiting]) -> Worker.Next {
    let (now, moment) = (grantStore.clock.now(), timer.now())
    let pressing = waiting.flatMap { [$0.purchased - now, $0.halfTime - now] }.filter { $0 > .zero }.min()
    return state.locked { state in
      // Meanwhile a sweep was asked for.
      guard let planned = state.nextSweep else { return .again }
      let next = pressing.map { min(planned, moment + max(Self.shortestPause, $0)) } ?? planned
      state.nextSweep = next
      return .pause(atMost: next - moment)
    }
  }

  /// The store and environment whose purchases are judged together.
  private struct Place: Hashable {
    var store: StoreIdentifier
    var environment: StoreEnvironment

    init(of transaction: TransactionKey) {
      store = transaction.store
      environment = transaction.environment
    }
  }

  /// Returns the purchases that a store still waits to be told of: all of them, or those of the customers of
  /// the noted ones.
  private func waiting(
    _ noted: Set<TransactionKey>, isSweep: Bool
  ) async throws -> [AcknowledgementTable.Waiting] {
    let now = grantStore.clock.now()
    return try await grantStore.database.read { [stores] connection in
      if isSweep {
        return try stores.flatMap {
          try AcknowledgementTable.waiting(at: $0, since: now, in: connection)
        }
      }
      return try CustomerTable.customers(of: Array(noted), in: connection).flatMap {
        try AcknowledgementTable.waiting(of: $0, since: now, in: connection)
      }
    }
  }

  /// Judges the purchases of one customer at one store and environment by one read, and has the store told of
  /// the empty ones.
  private func settle(
    _ waiting: [AcknowledgementTable.Waiting], of customer: CustomerIdentifier
  ) async throws {
    let now = grantStore.clock.now()
    let empty = try await catalog.current { catalog -> [TransactionKey]? in
      let basis = try await grantStore.database.read { connection -> Basis? in
        guard try catalog.isCurrent(in: connection) else { return nil }
        return try Basis(
          of: customer, like: waiting[0].transaction, catalog: catalog, at: now, in: connection)
      }
      guard let basis else { return nil }
      let related = catalog.related(to: basis.transactions.map(\.product) + basis.record.products)
      let rule = EmptySaleRule(
        catalog: catalog,
        report: rules.evaluate(
          basis.transactions, catalog: related, policies: catalog.policies, record: basis.record, now: now),
        devices: basis.devices, completed: basis.completed, now: now)
      let said = Dictionary(basis.transactions.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
      return waiting.filter { purchase in
        said[purchase.transaction].map { rule.isEmpty($0, isPressing: purchase.halfTime <= now) } == true
      }.map(\.transaction)
    }
    guard !empty.isEmpty else { return }
    let told = try await grantStore.endEmptySales(empty, at: now)
    for transaction in told {
      log.info(
        "a purchase leaves nothing to deliver, and its store is told so",
        ["store": LogValue(transaction.store), "transaction": LogValue(transaction.id)])
    }
    didAdd()
  }

  /// The facts about a customer at one store.
  private struct Basis: Sendable {
    /// Devices of a customer that are asked for; who has more has not had all of them lately.
    static let maximumDevices = 100

    /// The customer's transactions at the store and environment in question.
    var transactions: [VerifiedTransaction]
    /// The issues that runs among them unlocked.
    var record: EntitlementRecord
    /// Devices that were seen within ``StoreRules/silence``.
    var devices: [DeviceIdentifier]
    /// By product: devices that completed a version, be it the customer's grant or another's on that device.
    var completed: [ProductIdentifier: Set<DeviceIdentifier>]

    /// Reads the facts. `place` is any transaction of the store and environment. Throws ``DatabaseError``.
    init(
      of customer: CustomerIdentifier, like place: TransactionKey, catalog: CatalogSnapshot,
      at now: Timestamp, in connection: borrowing Connection
    ) throws {
      transactions = try LedgerTable.transactions(of: customer, in: connection).filter {
        $0.store == place.store && $0.environment == place.environment
      }
      let payments = catalog.recorded(transactions)
      record =
        payments.isEmpty ? .empty : try EntitlementRecordTable.record(of: payments, in: connection)
      devices = try CustomerTable.devices(of: customer, limit: Self.maximumDevices, in: connection)
        .filter { $0.lastSeen > now - StoreRules.silence }.map(\.device)
      completed = try GrantTable.completed(by: customer, in: connection)
        .merging(try GrantTable.completed(on: devices, in: connection)) { $0.union($1) }
    }
  }
}

extension GrantStore {
  /// Has the stores told that these are delivered or finished, of which nothing is to be delivered. Answers those of which a store is
  /// told, or was; what an operator decided not to call stays as it is. In one write that locks every one of
  /// the transactions. Throws ``DatabaseError``.
  func endEmptySales(
    _ transactions: [TransactionKey], at now: Timestamp
  ) async throws -> [TransactionKey] {
    try await database.write(locking: transactions.map { .transaction($0) }) { connection in
      try transactions.filter { transaction in
        // A refund may have come meanwhile.
        guard try TransactionTable.word(on: transaction, in: connection)?.revoked == nil else { return false }
        let acknowledgement = try LedgerTable.acknowledgement(of: transaction, in: connection)
        let standing = try OutboxTable.add(
          OutboxEntry.Kind(ending: acknowledgement), of: transaction, payload: acknowledgement?.reference,
          at: now, in: connection)
        return switch standing {
        case .waiting, .done: true
        case .parked, .dropped: false
        }
      }
    }
  }
}

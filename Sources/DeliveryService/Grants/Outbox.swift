import Commerce
import CoreTypes
import Database
import ServiceRuntime
import Synchronization

/// Makes the calls that are still to be made to stores, one after the other, until each was accepted: today
/// only the end of a transaction. A call is a row of ``OutboxTable``, written in the transaction that it
/// follows from, so it survives the process; it may be made twice, so every one is idempotent at the store.
/// ``OutboxMachine`` decides when a call that failed is repeated, a ``Worker`` when the table is looked at.
///
///     let outbox = Outbox(grantStore: grantStore, stores: [store.name: store], timer: timer, log: log)
///     await outbox.run()                 // in a task of its own
///     try await outbox.attempt(row)      // a request that wants the answer now
///     outbox.wake()                      // a row was added
final class Outbox: Sendable {
  private let grantStore: GrantStore
  private let stores: [StoreIdentifier: any PaymentStoreClient]
  private let log: Log
  private let worker: Worker
  private let sweeper: Worker
  private let sweepPosition = Mutex<ObligationTable.SweepPosition?>(nil)

  /// How long a caller that makes a call itself keeps the worker away from it.
  static let headStart: Duration = .seconds(10)
  /// How often debts are looked for that nothing has settled.
  static let sweepInterval: Duration = .seconds(3600)
  private static let batch = 32
  private static let sweepBatch = 200

  init(
    grantStore: GrantStore, stores: [StoreIdentifier: any PaymentStoreClient], timer: any MonotonicClock,
    log: Log
  ) {
    self.grantStore = grantStore
    self.stores = stores
    worker = Worker(clock: timer)
    sweeper = Worker(clock: timer)
    self.log = log
  }

  /// Makes the call now if it still waits; true when the store has accepted it.
  func attempt(_ id: Int64) async throws -> Bool {
    guard let entry = try await grantStore.database.read({ try OutboxTable.find(id, in: $0) }) else {
      return true
    }
    return try await attempt(entry)
  }

  /// Works until the task is cancelled. What fails here (a full disk, say) is logged and tried again:
  /// deliveries go on.
  func run() async {
    await withTaskGroup { group in
      group.addTask { [self] in
        await worker.run(makeDueCalls) { [log] error in
          log.error("the outbox cannot work", ["error": LogValue(error)])
        }
      }
      group.addTask { [self] in
        await sweeper.run(settleLeftovers) { [log] error in
          log.error("debts cannot be settled", ["error": LogValue(error)])
        }
      }
    }
  }

  /// A call was added, or put off to another time.
  func wake() {
    worker.wake()
  }

  /// Debts were settled, and perhaps more of them than one step settles.
  func sweep() {
    wake()
    sweeper.wake()
  }

  private func settleLeftovers() async throws -> Worker.Next {
    let (next, hasSettled) = try await grantStore.settleLeftovers(
      after: sweepPosition.withLock { $0 }, limit: Self.sweepBatch)
    sweepPosition.withLock { $0 = next }
    if hasSettled { wake() }
    return next == nil ? .pause(atMost: Self.sweepInterval) : .again
  }

  private func makeDueCalls() async throws -> Worker.Next {
    let now = grantStore.clock.now()
    let entries = try await grantStore.database.read { connection in
      try OutboxTable.due(at: now, limit: Self.batch, in: connection)
    }
    for entry in entries {
      try Task.checkCancellation()
      _ = try await attempt(entry)
    }
    if entries.count == Self.batch { return .again }
    guard let next = try await grantStore.database.read({ try OutboxTable.nextAttempt(in: $0) }) else {
      return .waitForWake
    }
    return .pause(atMost: max(next - grantStore.clock.now(), .milliseconds(10)))
  }

  private func attempt(_ entry: OutboxEntry) async throws -> Bool {
    guard let store = stores[entry.store] else {
      try await postpone(entry, after: .refused, because: "the configuration knows no store \(entry.store)")
      return false
    }
    let reply =
      switch entry.kind {
      case .finish: await store.finish(entry.subject)
      }
    if reply.answer == .accepted {
      try await grantStore.transactionFinished(entry.subject, store: entry.store, outbox: entry.id)
      log.info(
        "transaction finished at the store",
        ["store": LogValue(entry.store), "transaction": LogValue(entry.subject)])
      return true
    }
    try await postpone(entry, after: reply.answer, because: reply.detail ?? "no answer")
    return false
  }

  private func postpone(
    _ entry: OutboxEntry, after answer: OutboxMachine.Answer, because detail: String
  ) async throws {
    let machine = OutboxMachine(attempts: entry.attempts + 1)
    guard case .retry(let delay) = machine.handle(answer, chance: Double.random(in: 0...1)) else { return }
    let next = grantStore.clock.now() + delay
    try await grantStore.database.write { connection in
      try OutboxTable.postpone(entry.id, until: next, because: detail, in: connection)
    }
    log.warning(
      "store call postponed",
      [
        "store": LogValue(entry.store), "kind": LogValue(entry.kind.rawValue),
        "transaction": LogValue(entry.subject), "attempts": LogValue(machine.attempts),
        "next": LogValue(next),
        "error": LogValue(detail),
      ])
    wake()
  }
}

extension Outbox: MetricSource {
  func register(in metrics: inout MetricRegistry) {
    let database = grantStore.database
    let depth: Metric<Int> = .gauge("pullbox_outbox_depth", help: "Calls that a store has still to hear.") {
      $0
    }
    metrics.register([depth]) { try await database.read { try OutboxTable.depth(in: $0) } }
  }
}

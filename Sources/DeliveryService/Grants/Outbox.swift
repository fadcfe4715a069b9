import Commerce
import CoreTypes
import Database
import ServiceRuntime
import Synchronization

/// Makes the calls that are still to be made to stores until each was accepted: today
/// only the end of a transaction. A call is a row of ``OutboxTable``, written in the transaction that it
/// follows from, so it survives the process; it may be made twice, so every one is idempotent at the store.
/// ``OutboxMachine`` decides when a call that failed is repeated, a ``Worker`` when the table is looked at.
/// Every call runs in the outbox's own task, once at a time: who wants its answer waits for it, and a call
/// goes on when its waiters are gone.
///
///     let outbox = Outbox(grantStore: grantStore, stores: [store.name: store], timer: timer, log: log)
///     await outbox.run()                 // in a task of its own
///     try await outbox.attempt(row, patience: .seconds(2))  // a request that wants the answer now
///     outbox.wake()                      // a row was added
final class Outbox: Sendable {
  private let grantStore: GrantStore
  private let stores: [StoreIdentifier: any PaymentStoreClient]
  private let log: Log
  private let timer: any MonotonicClock
  private let calls = Mutex(Calls())
  /// Rows whose calls are to be made now; ``run()`` makes them.
  private let requested: (stream: AsyncStream<Int64>, continuation: AsyncStream<Int64>.Continuation)
  private let worker: Worker
  private let sweeper: Worker
  private let sweepPosition = Mutex<ObligationTable.SweepPosition?>(nil)

  /// What a call led to.
  private enum CallOutcome: Sendable {
    case accepted
    case postponed
    case abandoned
  }

  private typealias Waiter = AsyncStream<Result<CallOutcome, any Error>>.Continuation

  private struct Calls {
    /// Who waits for the calls that run or are about to, by row.
    var waiters: [Int64: [Waiter]] = [:]
    /// ``run()`` has returned, and no call is made any more.
    var isStopped = false
  }

  /// After an abandoned call, which a shutdown explains: how long until the table is looked at again.
  private static let pauseAfterAbandoned: Duration = .seconds(1)
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
    self.timer = timer
    requested = AsyncStream.makeStream()
    worker = Worker(clock: timer)
    sweeper = Worker(clock: timer)
    self.log = log
  }

  /// Makes the call now, or joins it where it runs, and waits for the store's answer, at most `patience`;
  /// true when the store has accepted it. The call goes on by itself when it takes longer.
  func attempt(_ id: Int64, patience: Duration) async throws -> Bool {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask { try await self.outcome(ofCall: id) == .accepted }
      group.addTask { [timer] in
        try await timer.sleep(for: patience)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }

  /// Works until the task is cancelled. What fails here (a full disk, say) is logged and tried again:
  /// deliveries go on.
  func run() async {
    await withTaskGroup { group in
      group.addTask { [self] in
        await withDiscardingTaskGroup { calls in
          for await id in requested.stream { calls.addTask { await self.perform(id) } }
        }
        stop()
      }
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
      if try await outcome(ofCall: entry.id) == .abandoned { return .pause(atMost: Self.pauseAfterAbandoned) }
    }
    if entries.count == Self.batch { return .again }
    guard let next = try await grantStore.database.read({ try OutboxTable.nextAttempt(in: $0) }) else {
      return .waitForWake
    }
    return .pause(atMost: max(next - grantStore.clock.now(), .milliseconds(10)))
  }

  /// Waits for the call, which is begun unless it runs. Abandoned when the waiting task is cancelled.
  private func outcome(ofCall id: Int64) async throws -> CallOutcome {
    let (stream, waiter) = AsyncStream.makeStream(of: Result<CallOutcome, any Error>.self)
    let isStopped = calls.withLock { calls in
      if calls.isStopped { return true }
      if calls.waiters[id] == nil { requested.continuation.yield(id) }
      calls.waiters[id, default: []].append(waiter)
      return false
    }
    if isStopped { return .abandoned }
    for await result in stream { return try result.get() }
    return .abandoned
  }

  /// Makes the call and tells its waiters.
  private func perform(_ id: Int64) async {
    let result: Result<CallOutcome, any Error>
    do {
      result = .success(try await call(id))
    } catch {
      result = .failure(error)
    }
    for waiter in calls.withLock({ $0.waiters.removeValue(forKey: id) }) ?? [] {
      waiter.yield(result)
      waiter.finish()
    }
  }

  private func stop() {
    let waiters = calls.withLock { calls in
      calls.isStopped = true
      defer { calls.waiters = [:] }
      return calls.waiters.values.flatMap { $0 }
    }
    for waiter in waiters { waiter.finish() }
  }

  private func call(_ id: Int64) async throws -> CallOutcome {
    guard let entry = try await grantStore.database.read({ try OutboxTable.find(id, in: $0) }) else {
      return .accepted
    }
    let wasDue = entry.nextAttempt <= grantStore.clock.now()
    guard let store = stores[entry.store] else {
      let detail = "the configuration knows no store \(entry.store)"
      return try await postpone(entry, wasDue: wasDue, after: .refused, because: detail)
    }
    let reply =
      switch entry.kind {
      case .finish: await store.finish(entry.subject)
      }
    if reply.answer == .accepted {
      do {
        try await grantStore.transactionFinished(entry.subject, store: entry.store, outbox: entry.id)
      } catch let error as ColumnTypeMismatch {
        // A grant that cannot be read must not hold up the calls behind this one.
        return try await postpone(entry, wasDue: true, after: .refused, because: "\(error)")
      }
      log.info(
        "transaction finished at the store",
        ["store": LogValue(entry.store), "transaction": LogValue(entry.subject)])
      return .accepted
    }
    return try await postpone(
      entry, wasDue: wasDue, after: reply.answer, because: reply.detail ?? "no answer")
  }

  /// A call that was made before its time, because a device reported again, puts the next one off no further.
  private func postpone(
    _ entry: OutboxEntry, wasDue: Bool, after answer: OutboxMachine.Answer, because detail: String
  ) async throws -> CallOutcome {
    let machine = OutboxMachine(attempts: entry.attempts + 1)
    guard case .retry(let delay) = machine.handle(answer, chance: Double.random(in: 0...1)) else {
      return .abandoned
    }
    guard wasDue else { return .postponed }
    let next = grantStore.clock.now() + delay
    try await grantStore.database.write(locking: [.transaction(entry.subject, entry.store)]) { connection in
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
    return .postponed
  }
}

extension Outbox: MetricSource {
  func register(in metrics: inout MetricRegistry) {
    let database = grantStore.database
    let depth: Metric<Int64> = .gauge("pullbox_outbox_depth", help: "Calls that a store has still to hear.") {
      $0
    }
    metrics.register([depth]) { try await database.read { try CounterTable.waitingCalls(in: $0) } }
  }
}

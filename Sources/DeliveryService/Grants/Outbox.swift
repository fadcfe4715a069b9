import Commerce
import Database
import CoreTypes
import ServiceRuntime

/// Makes the calls that stores still have to hear, one after the other, until each was accepted. They survive the
/// process; any of them may be made twice, so every one is idempotent at the store.
final class Outbox: Sendable {
  private let grantStore: GrantStore
  private let stores: [StoreIdentifier: any PaymentStoreClient]
  private let log: Log
  private let timer: any MonotonicClock
  private let wakeUp = AsyncSignal()

  /// How long a caller that makes a call itself keeps the worker away from it.
  static let headStart: Duration = .seconds(10)
  private static let batch = 32

  init(
    grantStore: GrantStore, stores: [StoreIdentifier: any PaymentStoreClient], clock: any MonotonicClock,
    log: Log
  ) {
    self.grantStore = grantStore
    self.stores = stores
    timer = clock
    self.log = log
  }

  /// Makes the call now if it still waits; true when the store has accepted it.
  func attempt(_ id: Int64) async throws -> Bool {
    guard let entry = try await grantStore.database.read({ try OutboxTable.find(id, in: $0) }) else {
      return true
    }
    return try await attempt(entry)
  }

  /// Works until the task is cancelled. What fails here (a full disk, say) is logged and tried again: deliveries go on.
  func run() async {
    while !Task.isCancelled {
      var pause: Duration? = .seconds(5)
      do {
        while try await workOnce() {}
        pause = try await pauseUntilNext()
      } catch {
        if Task.isCancelled { return }
        log.error("the outbox cannot work", ["error": LogValue(error)])
      }
      await wakeUp.wait(atMost: pause, clock: timer)
    }
  }

  /// Something was added.
  func kick() {
    wakeUp.signal()
  }

  /// True when there may be more to do at once.
  private func workOnce() async throws -> Bool {
    let now = grantStore.clock.now()
    let entries = try await grantStore.database.read { connection in
      try OutboxTable.due(at: now, limit: Self.batch, in: connection)
    }
    for entry in entries {
      try Task.checkCancellation()
      _ = try await attempt(entry)
    }
    return entries.count == Self.batch
  }

  private func pauseUntilNext() async throws -> Duration? {
    guard let next = try await grantStore.database.read({ try OutboxTable.nextAttempt(in: $0) }) else {
      return nil
    }
    return max(next - grantStore.clock.now(), .milliseconds(10))
  }

  private func attempt(_ entry: OutboxEntry) async throws -> Bool {
    guard let store = stores[entry.store] else {
      try await postpone(entry, .refused, "the configuration knows no store \(entry.store)")
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
    try await postpone(entry, reply.answer, reply.detail ?? "no answer")
    return false
  }

  private func postpone(_ entry: OutboxEntry, _ answer: OutboxMachine.Answer, _ detail: String) async throws {
    let machine = OutboxMachine(attempts: entry.attempts + 1)
    guard case .retry(let delay) = machine.decide(answer, jitter: Double.random(in: 0...1)) else { return }
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
    kick()
  }
}

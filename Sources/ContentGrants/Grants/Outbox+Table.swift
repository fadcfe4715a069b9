import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
package import Monitoring
import PaymentStores
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import Synchronization

/// The calls that the outbox takes from its table, and its care of the table.
extension Outbox {
  /// Takes the calls whose time has come, as many as each store has room for; answers when to look again. The
  /// pause is between 10 milliseconds and ``longestPause``. Throws ``DatabaseError``; the worker then tries
  /// again.
  func takeDueCalls() async throws -> Worker.Next {
    var pause: Duration?
    for store in stores.keys {
      guard let next = try await takeDueCalls(to: store) else { continue }
      pause = min(pause ?? next, next)
    }
    return pause.map { .pause(atMost: min(max($0, .milliseconds(10)), Self.longestPause)) } ?? .waitForWake
  }

  /// A store's queue at the start of a pass.
  private struct View: Sendable {
    /// How many rows may be taken.
    var room: StoreQueue.Room
    /// Calls that the queue has already; their rows are skipped.
    var inHand: Set<Int64>
    /// Whether the last probe was a call that had never been made.
    var wasProbedWithNew: Bool
    /// When a probe may be made; nil while the store answers.
    var nextProbe: MonotonicInstant?
  }

  /// Nil where no call to that store waits, or the end of one that runs wakes the worker; zero to look again.
  private func takeDueCalls(to store: StoreIdentifier) async throws -> Duration? {
    let start = timer.now()
    let seen: View? = change(store) { queue, state in
      let view = View(
        room: queue.room(at: start), inHand: queue.inHand,
        wasProbedWithNew: state.probedWithNew.contains(store),
        nextProbe: queue.breaker.nextProbe)
      // Where there is no room, the end of a call makes some.
      if view.room == .none { queue.mayHaveMore = true }
      return view
    }
    guard let seen else { return nil }
    let inHand = seen.inHand
    let lease = lease(on: [store])
    switch seen.room {
    case .none:
      guard let nextProbe = seen.nextProbe else { return nil }
      let isEmpty = try await grantStore.database.read(waiting: .unlimited) { connection in
        try OutboxTable.waiting(for: store, after: nil, for: lease, limit: 1, in: connection).isEmpty
      }
      return isEmpty ? Self.longestPause : nextProbe - start
    case .probe:
      return try await takeProbe(of: store, besides: inHand, afterNew: seen.wasProbedWithNew, lease)
    case .calls(let count):
      let limit = inHand.count + count
      let (due, next, hasHeld) = try await grantStore.database.read(waiting: .unlimited) { connection in
        let due = try OutboxTable.due(to: store, for: lease, limit: limit, in: connection)
        let next = try OutboxTable.nextAttempt(to: store, after: lease.now, in: connection)
        // Asked only where few rows are due, all of which it reads.
        let isAll = due.count < limit
        let end = isAll ? try OutboxTable.nextLeaseEnd(of: store, for: lease, in: connection) : nil
        // No event tells of the day from which others of an order hold a call no longer.
        let hasHeld = isAll ? try OutboxTable.hasHeld(to: store, at: lease.now, in: connection) : false
        return (due, [next, end].compactMap { $0 }.min(), hasHeld)
      }
      let others = Array(due.filter { !inHand.contains($0.id) }.prefix(count))
      _ = change(store) { queue, _ in queue.mayHaveMore = others.count == count }
      let isTaken = try await take(others, of: store, lease) == others.count
      let pause = next.map { $0 - lease.now } ?? (hasHeld ? Self.longestPause : nil)
      // What was not taken was claimed by another node meanwhile, or parked.
      return isTaken ? pause : .zero
    }
  }

  /// Takes one call that waits, one that was never made before the others, but for every second time: however many there are
  /// that the store always fails at, a new one is reached with the second probe. Answers when to look again.
  private func takeProbe(
    of store: StoreIdentifier, besides inHand: Set<Int64>, afterNew: Bool, _ lease: OutboxLease
  ) async throws -> Duration? {
    let limit = inHand.count + 1
    let endOfNew = OutboxTable.Place(nextAttempt: OutboxEntry.atOnce, id: .max)
    let places = afterNew ? [endOfNew, nil] : [nil]
    let first = try await grantStore.database.read(waiting: .unlimited) { connection -> OutboxTable.Found? in
      for place in places {
        let next = try OutboxTable.waiting(for: store, after: place, for: lease, limit: limit, in: connection)
        if let first = next.first(where: { !inHand.contains($0.id) }) { return first }
      }
      return nil
    }
    guard let first else { return Self.longestPause }
    if case .entry(let entry) = first {
      let isNew = entry.nextAttempt == OutboxEntry.atOnce
      _ = change(store) { _, state in
        if isNew { state.probedWithNew.insert(store) } else { state.probedWithNew.remove(store) }
      }
    }
    return try await take([first], of: store, lease) == 1 ? CircuitBreaker.probeInterval : .zero
  }

  /// Claims the rows and puts them in line; parks what no store can be told, and drops what none would take any more. Answers how many were claimed.
  private func take(
    _ found: [OutboxTable.Found], of store: StoreIdentifier, _ lease: OutboxLease
  ) async throws -> Int {
    var entries: [OutboxEntry] = []
    for row in found {
      switch row {
      case .entry(let entry) where entry.isOverdue(at: grantStore.clock.now()): await expire(entry)
      case .entry(let entry) where OutboxEntry.Kind.known.contains(entry.kind): entries.append(entry)
      case .entry(let entry):
        await park(row, isRefused: false, because: "this version knows no call '\(entry.kind.rawValue)'")
      case .damaged(_, let fault): await park(row, isRefused: false, because: fault)
      }
    }
    guard !entries.isEmpty else { return 0 }
    let wanted = entries
    // Each claim is one statement. In one order, so that two processes that claim the same rows do not wait for each other.
    let taken = try await grantStore.database.write(locking: [], waiting: .unlimited) { connection in
      let claimed = try Set(
        wanted.map(\.id).sorted().filter { try OutboxTable.take($0, lease, in: connection) })
      return wanted.filter { claimed.contains($0.id) }
    }
    let calls = taken.map { call($0) }
    let now = timer.now()
    _ = change(store) { queue, _ in
      // One that is not accepted any more stays in the table.
      for call in calls { _ = queue.add(call, at: now) }
    }
    return taken.count
  }

  /// Settles debts that nothing has settled, and brings rows forward that a wall clock has put off. One step
  /// settles ``sweepBatch`` debts at most, and the worker takes further steps until none is left. Only the
  /// process with the lease sweeps.
  func sweepOnce() async throws -> Worker.Next {
    guard try await sweepLease?.isHeld() ?? true else { return .pause(atMost: LeaseMachine.duration) }
    let position = state.locked { $0.sweepPosition }
    if position == nil { try await lookAfterTable() }
    let (next, hasSettled) = try await grantStore.settleLeftovers(after: position, limit: Self.sweepBatch)
    state.locked { $0.sweepPosition = next }
    if hasSettled { wake() }
    return next == nil ? .pause(atMost: Self.sweepInterval) : .again
  }

  /// Brings forward rows that lie further ahead than any pause may be, and logs each store of waiting rows that
  /// the configuration does not know, once.
  private func lookAfterTable() async throws {
    let now = schedule.now()
    let stores = stores.keys
    let moved = try await grantStore.database.write(locking: [], waiting: .unlimited) { connection in
      try stores.reduce(0) {
        try $0
          + OutboxTable.bringForward(
            to: $1, at: now, longestPause: OutboxMachine.unavailabilityBackoff.cap,
            afterRefusal: OutboxMachine.refusalBackoff.cap, in: connection)
      }
    }
    if moved > 0 { wake() }
    let counts = try await grantStore.database.read(waiting: .unlimited) {
      try OutboxTable.counts(in: $0)
    }
    for count in counts
    where count.waiting > 0 && StoreIdentifier(count.store).map({ stores.contains($0) }) != true {
      guard state.locked({ $0.unknownStores.insert(count.store).inserted }) else { continue }
      log.error(
        "calls wait for a store that the configuration does not know",
        ["store": LogValue(count.store), "calls": LogValue(count.waiting)])
    }
  }
}

extension Outbox {
  /// Returns the state of a store, as the calls to it have shown it.
  func standing(of store: StoreIdentifier) -> CircuitBreaker.Standing {
    let now = timer.now()
    return state.locked { $0.queues[store]?.breaker.standing(at: now) } ?? CircuitBreaker.Standing()
  }
}

extension Outbox: MetricSource {
  /// The state of the table that a page of metrics shows.
  private struct Seen: Sendable {
    var counts: [OutboxTable.Count]
    var oldestWaiting: Timestamp?
    var oldestParked: Timestamp?
  }

  package func register(in metrics: inout MetricRegistry) {
    let (database, clock, stores) = (grantStore.database, grantStore.clock, stores.keys.map(\.description))
    let labels = ["store", "kind"]
    @Sendable func age(since added: Timestamp?) -> Int64 {
      max(0, added.map { (clock.now() - $0).components.seconds } ?? 0)
    }
    let listed: [Metric<Seen>] = [
      .gauge("pullbox_outbox_depth", help: "Calls that a store has still to accept.", labels: labels) {
        $0.counts.map { .init($0.waiting, labels: [$0.store, $0.kind]) }
      },
      .gauge(
        "pullbox_outbox_parked", help: "Calls that are not made until an operator asks for it.",
        labels: labels
      ) {
        $0.counts.map { .init($0.parked, labels: [$0.store, $0.kind]) }
      },
      .gauge("pullbox_outbox_oldest_seconds", help: "Age of the call that has waited longest.") {
        age(since: $0.oldestWaiting)
      },
      .gauge("pullbox_outbox_oldest_parked_seconds", help: "Age of the oldest call that is parked.") {
        age(since: $0.oldestParked)
      },
    ]
    metrics.registerShared(listed) {
      var seen = try await database.read { connection in
        Seen(
          counts: try OutboxTable.counts(in: connection),
          oldestWaiting: try OutboxTable.oldest(.waiting, in: connection),
          oldestParked: try OutboxTable.oldest(.parked, in: connection))
      }
      let named = Set(seen.counts.map { [$0.store, $0.kind] })
      let idle = stores.flatMap { store in OutboxEntry.Kind.known.map { [store, $0.rawValue] } }
        .filter { !named.contains($0) }
      seen.counts += idle.map { OutboxTable.Count(store: $0[0], kind: $0[1], waiting: 0, parked: 0) }
      return seen
    }
    metrics.register([
      .counter(
        "pullbox_outbox_expired_total",
        help: "Calls that were dropped because their store would not take them any more."
      ) { [self] in expired.load(ordering: .relaxed) }
    ])
    let open: Metric<Void> = .gauge(
      "pullbox_outbox_breaker_open", help: "1 while a store does not answer: only probes are made.",
      labels: ["store"]
    ) { [self] in
      state.locked { state in
        state.queues.map { .init($0.value.breaker.isOpen ? 1 : 0, labels: [$0.key.description]) }
      }
    }
    metrics.register([open])
  }
}

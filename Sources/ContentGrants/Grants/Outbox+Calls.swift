import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import Synchronization

/// One call, from the store's answer to what is written of it. Each change of a row is one statement that says as what it was found;
/// only what is accepted locks its transaction, for the grants that are finished with it.
extension Outbox {
  /// After an abandoned call, which a shutdown explains: how long until it may be made again.
  private static let pauseAfterAbandoned: Duration = .seconds(1)
  private static let writingBackoff = Backoff(cap: .seconds(30))

  /// Makes the call, writes down what became of it, and tells those who wait. Runs in a task of its own until
  /// the outcome stands in the table. A call whose time at the store is over is dropped without being made.
  func perform(_ begun: StoreQueue.Begun) async {
    let entry = begun.call.entry
    let isOverdue = entry.isOverdue(at: grantStore.clock.now())
    let reply = isOverdue ? StoreAnswer(answer: .abandoned) : await answer(to: entry)
    if isOverdue { await expire(entry) }
    let isAlone = ended(begun, reply)
    let isAccepted = isOverdue ? false : await settle(begun, reply, isAlone: isAlone)
    release(entry, isAccepted: isAccepted)
  }

  /// Makes the call by its kind. A row without a store or of an unknown kind is abandoned, so that nothing
  /// becomes of it here.
  private func answer(to entry: OutboxEntry) async -> StoreAnswer {
    guard let store = stores[entry.store] else { return StoreAnswer(answer: .abandoned) }
    let (id, environment) = (entry.subject.id, entry.subject.environment)
    switch entry.kind {
    case .finish: return await store.finish(id, in: environment)
    case .acknowledge: return await store.acknowledge(id, in: environment, by: entry.payload ?? "")
    case .consume: return await store.consume(id, in: environment, by: entry.payload ?? "")
    case .consumption:
      guard let statement = entry.consumption else {
        return StoreAnswer(answer: .refused, detail: "the row holds no statement on consumption")
      }
      return await store.tell(statement, of: id, in: environment)
    default: return StoreAnswer(answer: .abandoned)
    }
  }

  /// Makes room for the next call. Whether the store fails at this one alone.
  private func ended(_ begun: StoreQueue.Begun, _ reply: StoreAnswer) -> Bool {
    let entry = begun.call.entry
    let now = timer.now()
    let end = change(entry.store) {
      queue, state -> (StoreQueue.End, Bool, [OutboxWaiters.Continuation])? in
      let end = queue.ended(begun, reply.answer.outcome, at: now)
      return (end, queue.isRunningLow, end.givenBack.flatMap { state.waiters.remove(for: $0) })
    }
    guard let (end, isRunningLow, givenUp) = end else { return false }
    let change = end.change
    for waiter in givenUp { waiter.resume(returning: false) }
    if change != nil || isRunningLow { wake() }
    switch change {
    case .opened:
      log.warning(
        "a store does not answer: its calls wait, but for a probe now and then",
        ["store": LogValue(entry.store), "error": LogValue(reply.detail ?? "no answer")])
    case .closed: log.info("a store answers again", ["store": LogValue(entry.store)])
    case nil: break
    }
    return end.isAlone
  }

  /// Lets go of the call and tells those who wait for it. The worker looks for further calls where this one may
  /// have held some up.
  private func release(_ entry: OutboxEntry, isAccepted: Bool) {
    let waiters = change(entry.store) { queue, state in
      queue.release(entry.id, isAccepted: isAccepted)
      return state.waiters.remove(for: entry.id)
    }
    for waiter in waiters ?? [] { waiter.resume(returning: isAccepted) }
    // Others of the same order may have waited for this one.
    if !isAccepted || entry.kind == .acknowledge || entry.kind == .consume { wake() }
  }

  /// Writes down what the store's answer means; whether it has accepted the call.
  private func settle(
    _ begun: StoreQueue.Begun, _ reply: StoreAnswer, isAlone: Bool
  ) async -> Bool {
    let entry = begun.call.entry
    let detail = reply.detail ?? "no answer"
    let machine = OutboxMachine(
      attempts: entry.attempts, refusals: entry.refusals, maximumRefusals: options.maximumRefusals)
    switch machine.handle(reply.answer, isAlone: isAlone, chance: Double.random(in: 0...1)) {
    case .markDone: return await accept(entry)
    case .leave: try? await timer.sleep(for: Self.pauseAfterAbandoned)
    case .park: await park(.entry(entry), isRefused: true, because: detail)
    case .drop: await expire(entry, because: detail)
    case .retry(let delay):
      await postpone(begun, by: delay, isRefused: reply.answer == .refused, isAlone: isAlone, because: detail)
    }
    return false
  }

  /// Writes down that the store has accepted the call; false where the row says something else by now or cannot
  /// be read.
  private func accept(_ entry: OutboxEntry) async -> Bool {
    let isOver: Bool
    do {
      isOver = try await write("an accepted call", entry) { [grantStore] in
        try await grantStore.accepted(entry)
      }
    } catch let error as ColumnTypeMismatch {
      // A grant that cannot be read: another call would come to the same.
      await park(.entry(entry), isRefused: false, because: "\(error)")
      return false
    } catch {
      // Cancelled: the call is made again after the next start, which changes nothing at the store.
      return false
    }
    log.info(
      "call accepted by the store",
      [
        "store": LogValue(entry.store), "kind": LogValue(entry.kind.rawValue),
        "transaction": LogValue(entry.subject.id),
      ])
    return isOver
  }

  /// Writes down when the call is made again. A call that was made before its time stays where it was.
  private func postpone(
    _ begun: StoreQueue.Begun, by delay: Duration, isRefused: Bool, isAlone: Bool, because detail: String
  ) async {
    let isProbe = begun.permit == .probe
    // A probe that fails says something of the store, not of its row.
    if isProbe, !isRefused, !isAlone { return await putBehind(begun.call.entry) }
    // A call before its time, because a device reported again, puts the next one off no further.
    guard begun.call.wasDue || (isProbe && isAlone) else { return }
    let entry = begun.call.entry
    let next = schedule.now() + delay
    // Cancelled: the row stays due.
    let isPostponed = try? await write("a call that failed", entry) { [grantStore] in
      try await grantStore.database.write(locking: [], waiting: .unlimited) { connection in
        try OutboxTable.postpone(
          entry, until: next, isRefused: isRefused, because: detail, in: connection)
      }
    }
    guard isPostponed == true else { return }
    log.warning(
      "store call postponed",
      [
        "store": LogValue(entry.store), "kind": LogValue(entry.kind.rawValue),
        "transaction": LogValue(entry.subject.id), "attempts": LogValue(entry.attempts + 1),
        "next": LogValue(schedule.wallTime(at: next)), "error": LogValue(detail),
      ])
  }

  /// The next probe is another call's. Cancelled: it is this one's again.
  private func putBehind(_ entry: OutboxEntry) async {
    let lease = lease()
    _ = try? await write("a probe that failed", entry) { [grantStore] in
      try await grantStore.database.write(locking: [], waiting: .unlimited) { connection in
        try OutboxTable.putBehind(entry.id, lease, in: connection)
      }
    }
  }

  /// Keeps the call from being made until an operator asks for it.
  func park(_ row: OutboxTable.Found, isRefused: Bool, because detail: String) async {
    let now = grantStore.clock.now()
    let entry: OutboxEntry? = if case .entry(let entry) = row { entry } else { nil }
    let isParked = try? await write("a parked call", entry) { [grantStore] in
      try await grantStore.database.write(locking: [], waiting: .unlimited) { connection in
        switch row {
        case .entry(let entry):
          try OutboxTable.park(entry, at: now, isRefused: isRefused, because: detail, in: connection)
        case .damaged(let id, _): try OutboxTable.parkDamaged(id, at: now, because: detail, in: connection)
        }
      }
    }
    guard isParked == true else { return }
    log.error(
      "store call parked: it is not made again until an operator asks for it",
      [
        "id": LogValue(row.id), "store": LogValue(entry?.store.description ?? "unknown"),
        "transaction": LogValue(entry?.subject.id.description ?? "unknown"), "error": LogValue(detail),
      ])
  }

  /// Drops a call that its store would not take any more; in the audit log as this server's doing. Nothing is due at the store then.
  func expire(_ entry: OutboxEntry, because reason: String = overdue) async {
    let now = grantStore.clock.now()
    let record = AuditEntry(
      at: now, actor: AuditTable.serverActor, action: "outbox.expire",
      subject: "\(entry.id) \(entry.store) \(entry.kind.rawValue) \(entry.subject.id)", detail: reason,
      environment: entry.subject.environment.rawValue)
    // Cancelled: the row stays due, and is dropped after the next start.
    let isDropped = try? await write("an overdue call", entry) { [grantStore] in
      try await grantStore.database.write(locking: [.transaction(entry.subject)], waiting: .unlimited) {
        connection in
        guard try OutboxTable.expire(entry, at: now, because: reason, in: connection) else {
          return false
        }
        if entry.kind == .acknowledge || entry.kind == .consume {
          try AcknowledgementTable.noteTold(of: entry.subject, in: connection)
        }
        // Its store has nothing more to hear: what was completed is over.
        if OutboxEntry.Kind.ends.contains(entry.kind) {
          try ObligationTable.finishGrants(of: entry.subject, at: now, in: connection)
        }
        try AuditTable.add(record, in: connection)
        return true
      }
    }
    guard isDropped == true else { return }
    expired.add(1, ordering: .relaxed)
    log.warning(
      "a store call is dropped: the store takes no answer any more",
      [
        "store": LogValue(entry.store), "kind": LogValue(entry.kind.rawValue),
        "transaction": LogValue(entry.subject.id), "reason": LogValue(reason),
      ])
  }

  static let overdue = "the store takes no answer 12 hours after its question"

  /// Repeats a write until it succeeds: the store has answered, and would be asked again for nothing. Throws
  /// `CancellationError`, and at once what a damaged row throws.
  private func write<Value: Sendable>(
    _ what: String, _ entry: OutboxEntry?, _ body: @Sendable () async throws -> Value
  ) async throws -> Value {
    var failures = 0
    while true {
      do {
        return try await body()
      } catch let error as ColumnTypeMismatch {
        throw error
      } catch let error as CancellationError {
        throw error
      } catch {
        failures += 1
        if failures == 1 {
          log.error(
            "\(what) cannot be written down yet",
            ["store": LogValue(entry?.store.description ?? "unknown"), "error": LogValue(error)])
        }
        try await timer.sleep(for: Self.writingBackoff.delay(afterFailures: failures))
      }
    }
  }
}

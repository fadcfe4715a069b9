import Commerce
import CoreTypes
import Database
import DeliveryModel
package import DeliveryRecords
package import PullboxAPI
import RouteAccess
package import ServiceAPI

/// The lists and decisions of operators.
extension Outbox {
  /// At most `limit` calls, newest first, from behind the call `after` on, and where the next page begins. Throws
  /// `request-malformed` if there is no such call.
  package func page(after: Int64?, matching filter: OutboxTable.Filter, limit: Int) async throws -> Page<
    OutboxCall
  > {
    let now = schedule.now()
    let calls = try await grantStore.database.read { connection in
      if let after, try OutboxTable.call(after, in: connection) == nil { throw Problem.unknownCursor }
      return try OutboxTable.page(before: after ?? .max, matching: filter, limit: limit + 1, in: connection)
        .map { try OutboxTable.withHolders($0, at: now, in: connection) }
    }
    let items = calls.prefix(limit).map(shown)
    return Page(items: items, next: calls.count > limit ? items.last.map { String($0.id) } : nil)
  }

  /// Has the call made again at once, also one that is parked or was dropped, and also while its store does not answer: then it
  /// is the probe. One that the store has accepted stays as it is. One that waits for other products of its order is made no
  /// earlier, since the store would take them for delivered; the answer names them. Throws `call-unknown`.
  package func retry(_ id: Int64, by actor: String) async throws -> OutboxCall {
    let now = grantStore.clock.now()
    let lease = lease(on: [])
    let (call, entry) = try await grantStore.database.write(locking: []) { connection in
      // The row is this write's from then on.
      let isRetried = try OutboxTable.retry(id, in: connection)
      let after = try OutboxTable.withHolders(Self.find(id, in: connection), at: lease.now, in: connection)
      guard isRetried else { return (after, OutboxEntry?.none) }
      try AuditTable.add(
        AuditEntry(at: now, actor: actor, action: "outbox.retry", subject: Self.subject(after)),
        in: connection)
      return (after, try OutboxTable.claim(id, lease, in: connection))
    }
    readmit(id, of: call.store)
    if let entry { makeAtOnce(entry) }
    return shown(call)
  }

  /// Where the call has no place in line, it stays for the worker.
  private func makeAtOnce(_ entry: OutboxEntry) {
    let (call, now) = (call(entry), timer.now())
    _ = change(entry.store) { queue, state in
      state.isStopped ? false : queue.addAsked(call, at: now)
    }
  }

  /// Decides that the call is not made; its grants stay as they are. One that waits is dropped for a reason only.
  /// Nothing changes where it was dropped or accepted before. Throws `call-unknown`, `request-malformed` without
  /// the reason, and `state-conflict` while the call is being made.
  package func drop(_ id: Int64, because reason: String?, by actor: String) async throws -> OutboxCall {
    let store = try await grantStore.database.read { try Self.find(id, in: $0).store }
    // Before it is written down, so that it is not begun meanwhile.
    let isRunning = !exclude(id, of: store)
    let call: OutboxCall
    do {
      call = try await writeDrop(id, because: reason, by: actor, isRunning: isRunning)
    } catch {
      readmit(id, of: store)
      throw error
    }
    if call.state != .dropped { readmit(id, of: store) }
    return shown(call)
  }

  /// Drops the row and notes it in the audit log, in one write. Returns the call as it stands then.
  private func writeDrop(
    _ id: Int64, because reason: String?, by actor: String, isRunning: Bool
  ) async throws -> OutboxCall {
    let now = grantStore.clock.now()
    return try await grantStore.database.write(locking: []) { connection in
      var before: OutboxCall
      // Once more where the row has changed between the two statements.
      repeat {
        before = try Self.find(id, in: connection)
        switch before.state {
        case .done, .dropped: return before
        case .waiting where reason == nil:
          throw Problem(.requestMalformed, "a call that waits is dropped for a reason only")
        case .waiting where isRunning: throw Problem(.stateConflict, "the call is being made")
        case .waiting, .parked: break
        }
      } while try !OutboxTable.drop(id, foundParked: before.state == .parked, at: now, in: connection)
      try AuditTable.add(
        AuditEntry(
          at: now, actor: actor, action: "outbox.drop", subject: Self.subject(before), detail: reason),
        in: connection)
      return try Self.find(id, in: connection)
    }
  }

  /// Keeps the call from being begun; false where it runs.
  private func exclude(_ id: Int64, of store: String) -> Bool {
    guard let store = StoreIdentifier(store) else { return true }
    let result = change(store) { queue, state -> (Bool, [OutboxWaiters.Continuation])? in
      let isExcluded = queue.exclude(id)
      return (isExcluded, isExcluded ? state.waiters.remove(for: id) : [])
    }
    guard let (isExcluded, waiters) = result else { return true }
    for waiter in waiters { waiter.resume(returning: false) }
    return isExcluded
  }

  /// A call that was made before, or dropped, is to be made: what it says has changed.
  func callAgain(_ id: Int64, of store: StoreIdentifier) {
    _ = change(store) { queue, _ in
      queue.forgetAcceptance(of: id)
      queue.readmit(id)
    }
    wake()
  }

  /// Lets the call be begun again, and has the worker look for it.
  private func readmit(_ id: Int64, of store: String) {
    if let store = StoreIdentifier(store) {
      _ = change(store) { queue, _ in queue.readmit(id) }
    }
    wake()
  }

  /// Returns the call. Throws `call-unknown`.
  private static func find(_ id: Int64, in connection: borrowing Connection) throws -> OutboxCall {
    guard let call = try OutboxTable.call(id, in: connection) else { throw Problem(.callUnknown) }
    return call
  }

  /// Returns the call as the audit log names it: number, store, kind and transaction.
  private static func subject(_ call: OutboxCall) -> String {
    "\(call.id) \(call.store) \(call.kind) \(call.transaction)"
  }

  /// Returns the call with its next attempt in the wall clock's time.
  private func shown(_ call: OutboxCall) -> OutboxCall {
    guard let next = call.nextAttempt, next != call.created else { return call }
    var call = call
    call.nextAttempt = schedule.wallTime(at: next)
    return call
  }
}

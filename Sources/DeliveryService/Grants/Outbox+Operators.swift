import CoreTypes
import Database
import PullboxAPI

/// What operators see and decide.
extension Outbox {
  /// At most `limit` calls, newest first, from behind the call `after` on, and where the next page begins. Throws
  /// `request-malformed` if there is no such call.
  func page(after: Int64?, matching filter: OutboxTable.Filter, limit: Int) async throws -> Page<OutboxCall> {
    let calls = try await grantStore.database.read { connection in
      if let after, try OutboxTable.call(after, in: connection) == nil { throw Problem.unknownCursor }
      return try OutboxTable.page(before: after ?? .max, matching: filter, limit: limit + 1, in: connection)
    }
    let items = calls.prefix(limit).map(shown)
    return Page(items: items, next: calls.count > limit ? items.last.map { String($0.id) } : nil)
  }

  /// Has the call made again at once, also one that is parked or was dropped; one that the store has accepted
  /// stays as it is. Throws `call-unknown`.
  func retry(_ id: Int64, by actor: String) async throws -> OutboxCall {
    let now = grantStore.clock.now()
    let call = try await grantStore.database.write(locking: [.everything]) { connection in
      let before = try Self.find(id, in: connection)
      guard before.state != .done else { return before }
      try OutboxTable.retry(id, in: connection)
      try AuditTable.add(
        AuditEntry(at: now, actor: actor, action: "outbox.retry", subject: Self.subject(before)),
        in: connection)
      return try Self.find(id, in: connection)
    }
    wake()
    return shown(call)
  }

  /// Decides that the call is not made; its grants stay as they are. One that waits is dropped for a reason only.
  /// Nothing changes where it was dropped or accepted before. Throws `call-unknown`, and `request-malformed`
  /// without the reason.
  func drop(_ id: Int64, because reason: String?, by actor: String) async throws -> OutboxCall {
    let now = grantStore.clock.now()
    let call = try await grantStore.database.write(locking: [.everything]) { connection in
      let before = try Self.find(id, in: connection)
      switch before.state {
      case .done, .dropped: return before
      case .waiting where reason == nil:
        throw Problem(.requestMalformed, "a call that waits is dropped for a reason only")
      case .waiting, .parked: break
      }
      try OutboxTable.drop(id, at: now, in: connection)
      try AuditTable.add(
        AuditEntry(
          at: now, actor: actor, action: "outbox.drop", subject: Self.subject(before), detail: reason),
        in: connection)
      return try Self.find(id, in: connection)
    }
    return shown(call)
  }

  private static func find(_ id: Int64, in connection: borrowing Connection) throws -> OutboxCall {
    guard let call = try OutboxTable.call(id, in: connection) else { throw Problem(.callUnknown) }
    return call
  }

  private static func subject(_ call: OutboxCall) -> String {
    "\(call.id) \(call.store) \(call.kind) \(call.transaction)"
  }

  /// As the wall clock shows it.
  private func shown(_ call: OutboxCall) -> OutboxCall {
    guard let next = call.nextAttempt, next != call.created else { return call }
    var call = call
    call.nextAttempt = schedule.wallTime(at: next)
    return call
  }
}

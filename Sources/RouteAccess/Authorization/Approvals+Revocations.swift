package import CoreTypes
package import Database
import DeliveryModel
import DeliveryRecords
import PullboxAPI

extension Approvals {
  /// So many revocations by one key within a day need no approval.
  package static let freeRevocations: Int64 = 100
  /// A revocation in the audit log.
  static let revocation = "grant.revoke"
  private static let day: Duration = .seconds(86_400)

  /// The verdict on revocations: they wait where they are too many for one operator, with those that the same key made within a day. What
  /// is free by it is counted once more where it is written (``checkRevocation(by:at:in:)``).
  package static func manyRevocations(
    _ count: Int64, of subject: String, because reason: String?, tag: String? = nil, by actor: Operator,
    in database: Database, at now: Timestamp
  ) async throws -> Verdict {
    let recent = try await database.read { try recentRevocations(by: actor.name, at: now, in: $0) }
    guard count > 0, count + recent > freeRevocations else { return .free(tag: nil) }
    return .waits(
      Subject(action: revocation, subject: subject, reason: reason, affected: count, tag: tag))
  }

  /// Throws `second-operator-required` where the key has revoked as many as one operator may within a day. Runs in the write of another
  /// revocation, which holds the lock of the key's (``revocations(by:)``).
  package static func checkRevocation(
    by actor: String, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    guard try recentRevocations(by: actor, at: now, in: connection) < freeRevocations else {
      throw Problem(
        .secondOperatorRequired,
        "the key \(actor) has revoked \(freeRevocations) grants within a day; asked for again, it waits for another operator"
      )
    }
  }

  /// The lock that revocations by one operator alone are counted under.
  package static func revocations(by actor: String) -> DatabaseLock { .lease("revocations by \(actor)") }

  private static func recentRevocations(
    by actor: String, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Int64 {
    let filter = AuditTable.Filter(actor: actor, action: revocation, times: TimeRange(since: now - day))
    return Int64(
      try AuditTable.page(matching: filter, limit: Int(freeRevocations), in: connection).count)
  }
}

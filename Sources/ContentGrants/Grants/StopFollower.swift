import Commerce
import ContentDelivery
package import CoreTypes
import Crypto
package import Database
import DeliveryRecords
import PaymentStores
import PullboxAPI
package import ServiceRuntime
import Synchronization

/// Brings the revocation list of a node in line with the database, by the log of stops that all nodes write: what this node writes comes
/// to its own list the same way, so that two nodes that revoke and reinstate at one moment agree on what stays.
///
/// It reads when a write of its own or another node's has changed something, and looks at the log every two seconds besides
/// (``Database/reader(of:)``).
package final class StopFollower: Sendable {
  /// Entries in one reading.
  private static let limit = 500
  /// The time between two failures at most: nothing that is revoked is sent for long.
  private static let longestPause: Duration = .seconds(1)

  private let grants: GrantService
  private let database: Database
  private let worker: Worker
  private let revision: Mutex<Int64>
  private let log: Log

  /// `revision` is the log's as of which the list is right.
  package init(
    grants: GrantService, database: Database, from revision: Int64, timer: any MonotonicClock, log: Log
  ) {
    self.grants = grants
    self.database = database
    self.revision = Mutex(revision)
    self.log = log
    worker = Worker(clock: timer, backoff: Backoff(initial: .milliseconds(50), cap: Self.longestPause))
  }

  /// Something was written that stops or no longer stops.
  package func wake() { worker.wake() }

  /// Follows until the task is cancelled.
  package func run() async {
    let reader = database.reader(of: .stops)
    await withTaskGroup { group in
      group.addTask { [self] in
        while await reader.next() != nil { worker.wake() }
      }
      group.addTask { [self] in
        await worker.run(follow) { [log] error in
          log.warning("the stops of other nodes cannot be read", ["error": LogValue(error)])
        }
        reader.close()
      }
    }
  }

  /// The standing of all that a page of the log names.
  private struct Standing: Sendable {
    var page: StopLog.Page
    var grants: [(handle: DeliveryHandle, isRevoked: Bool)] = []
    var contents: [(digest: SHA256Digest, isBlocked: Bool, isDamaged: Bool)] = []
    var refunds: [VerifiedTransaction] = []
    /// Everything, where entries of the log are gone.
    var all: (grants: [DeliveryHandle], blocked: [SHA256Digest], damaged: [SHA256Digest])?
  }

  /// Applies what was logged since. Throws ``DatabaseError``; then nothing counts as applied.
  func follow() async throws -> Worker.Next {
    let start = revision.withLock { $0 }
    let standing = try await database.read { try Self.standing(after: start, in: $0) }
    let stops = grants.stops
    if let all = standing.all {
      stops.replace(grants: all.grants, blocked: all.blocked, damaged: all.damaged)
    }
    stops.apply(standing.grants.map { ($0.handle, $0.isRevoked) })
    for content in standing.contents {
      stops.apply(content.digest, isBlocked: content.isBlocked, isDamaged: content.isDamaged)
    }
    if !standing.grants.isEmpty { grants.noteStops() }
    for case .publication(let publication) in standing.page.subjects {
      try await grants.applyPolicy(of: publication)
    }
    if !standing.refunds.isEmpty { try await grants.closeIssues(openedBy: standing.refunds) }
    revision.withLock { $0 = standing.page.last }
    return standing.page.last > start ? .again : .waitForWake
  }

  private static func standing(after revision: Int64, in connection: borrowing Connection) throws -> Standing
  {
    var standing = Standing(page: try StopLog.page(after: revision, limit: limit, in: connection))
    if standing.page.hasGap {
      standing.page.last = try StopLog.revision(in: connection)
      standing.all = (
        try GrantTable.revoked(in: connection), try BlockedContentTable.all(in: connection),
        try PackageCheckTable.faulty(in: connection)
      )
    }
    for subject in standing.page.subjects {
      switch subject {
      case .grant(let handle):
        if let grant = try GrantTable.find(handle, in: connection) {
          standing.grants.append((handle, grant.machine.name == .revoked))
        }
      case .content(let digest):
        standing.contents.append(
          (
            digest, try BlockedContentTable.contains(digest, in: connection),
            try PackageCheckTable.fault(of: digest, in: connection) != nil
          ))
      case .transaction(let key):
        if let known = try LedgerTable.find(key, in: connection) {
          standing.refunds.append(known.transaction)
        }
      case .publication: break
      }
    }
    return standing
  }
}

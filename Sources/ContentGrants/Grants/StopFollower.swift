import Commerce
package import ContentDelivery
package import CoreTypes
package import Crypto
package import Database
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
import ServiceAPI
package import ServiceRuntime
import Synchronization

/// Brings the revocation list of a node in line with the database, by the log of stops that all nodes write. What this node writes
/// takes effect at once and is looked at again, so that two nodes that revoke and reinstate at one moment agree on what stays.
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
  /// Applies stops.
  private let worker: Worker
  /// Judges what may be closed, or open again, which may take long: no stop waits for it.
  private let judge: Worker
  private let unjudged = Mutex(Unjudged())
  /// The subjects that this node has changed itself since the last reading.
  private let changedHere = Mutex<Set<StopLog.Subject>>([])
  private let revision: Mutex<Int64>
  private let didChange: @Sendable (SHA256Digest) -> Void
  private let log: Log

  /// The things that are still to be judged.
  struct Unjudged: Hashable {
    var publications: Set<ProductIdentifier> = []
    var refunds: Set<TransactionKey> = []
    var grants: Set<DeliveryHandle> = []
    /// Whether entries of the log were missed: every publication is looked at, and what is being sent.
    var isEverything = false

    var isEmpty: Bool { !isEverything && publications.isEmpty && refunds.isEmpty && grants.isEmpty }

    /// Takes out everything but publications, of which each takes long: one.
    mutating func takePart() -> Unjudged {
      var part = self
      let first = publications.popFirst()
      part.publications = first.map { [$0] } ?? []
      self = Unjudged(publications: publications)
      return part
    }

    mutating func add(_ part: Unjudged) {
      publications.formUnion(part.publications)
      refunds.formUnion(part.refunds)
      grants.formUnion(part.grants)
      isEverything = isEverything || part.isEverything
    }
  }

  /// `revision` is the log's as of which the list is right. `didChange` is called for a package that was set aside, or is whole again,
  /// so that what is remembered of it is looked at anew.
  package init(
    grants: GrantService, database: Database, from revision: Int64, timer: any MonotonicClock, log: Log,
    didChange: @escaping @Sendable (SHA256Digest) -> Void = { _ in }
  ) {
    self.grants = grants
    self.database = database
    self.revision = Mutex(revision)
    self.didChange = didChange
    self.log = log
    let backoff = Backoff(initial: .milliseconds(50), cap: Self.longestPause)
    worker = Worker(clock: timer, backoff: backoff)
    judge = Worker(clock: timer, backoff: backoff)
  }

  /// Looks again at what was applied here: a write of another node may have come behind it.
  package func note(_ applied: RevocationList.Applied) {
    changedHere.locked { subjects in
      switch applied {
      case .grants(let handles): subjects.formUnion(handles.map { .grant($0) })
      case .content(let digest): subjects.insert(.content(digest))
      }
    }
    worker.wake()
  }

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
      group.addTask { [self] in
        await judge.run(judgeNext) { [log] error in
          log.warning("what other nodes have closed cannot be judged", ["error": LogValue(error)])
        }
      }
    }
  }

  /// The standing of all that a page of the log names.
  private struct Standing: Sendable {
    var page: StopLog.Page
    var grants: [(handle: DeliveryHandle, isRevoked: Bool)] = []
    var contents: [(digest: SHA256Digest, isBlocked: Bool, isDamaged: Bool)] = []
    /// Everything, where entries of the log are gone.
    var all: (grants: [DeliveryHandle], blocked: [SHA256Digest], damaged: [SHA256Digest])?
  }

  /// Applies the stops that were logged since, and notes what is to be judged. Throws ``DatabaseError``; then nothing counts as applied.
  func follow() async throws -> Worker.Next {
    let start = revision.locked { $0 }
    let again = changedHere.locked { subjects in
      defer { subjects = [] }
      return subjects
    }
    let standing: Standing
    do {
      standing = try await database.read { try Self.standing(after: start, besides: again, in: $0) }
    } catch {
      changedHere.locked { $0.formUnion(again) }
      throw error
    }
    let stops = grants.stops
    if let all = standing.all {
      stops.replace(grants: all.grants, blocked: all.blocked, damaged: all.damaged)
    }
    stops.apply(standing.grants.map { ($0.handle, $0.isRevoked) })
    for content in standing.contents {
      stops.apply(content.digest, isBlocked: content.isBlocked, isDamaged: content.isDamaged)
      didChange(content.digest)
    }
    if !standing.grants.isEmpty { grants.noteStops() }
    note(standing.page)
    revision.locked { $0 = standing.page.last }
    return standing.page.last > start ? .again : .waitForWake
  }

  private func note(_ page: StopLog.Page) {
    unjudged.locked { unjudged in
      if page.hasGap { unjudged.isEverything = true }
      for subject in page.subjects {
        switch subject {
        case .publication(let publication): unjudged.publications.insert(publication)
        case .transaction(let transaction): unjudged.refunds.insert(transaction)
        case .grant(let grant): unjudged.grants.insert(grant)
        case .content: break
        }
      }
    }
    judge.wake()
  }

  /// Judges what was noted, a part in each call. What is noted meanwhile is judged by a later one, also of the same name. Throws
  /// ``DatabaseError``; then the part is judged again.
  func judgeNext() async throws -> Worker.Next {
    let part = unjudged.locked { $0.takePart() }
    do {
      if part.isEverything { try await grants.closeAll() }
      if !part.refunds.isEmpty {
        let refunds = try await database.read { connection in
          try part.refunds.compactMap { try LedgerTable.find($0, in: connection)?.transaction }
        }
        try await grants.closeIssues(openedBy: refunds)
      }
      try await grants.reopenIssues(of: part.grants)
      for publication in part.publications { try await grants.applyPolicy(of: publication) }
    } catch {
      unjudged.locked { $0.add(part) }
      throw error
    }
    return unjudged.locked { $0.isEmpty } ? .waitForWake : .again
  }

  private static func standing(
    after revision: Int64, besides changedHere: Set<StopLog.Subject>, in connection: borrowing Connection
  ) throws -> Standing {
    var standing = Standing(page: try StopLog.page(after: revision, limit: limit, in: connection))
    if standing.page.hasGap {
      standing.page.last = try StopLog.revision(in: connection)
      standing.all = (
        try GrantTable.revoked(in: connection), try BlockedContentTable.all(in: connection),
        try PackageCheckTable.faulty(in: connection)
      )
    }
    for subject in standing.page.subjects.union(changedHere) {
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
      case .transaction, .publication: break
      }
    }
    return standing
  }
}

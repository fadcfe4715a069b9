import Commerce
import ContentDelivery
package import CoreTypes
import Database
import DeliveryModel
package import DeliveryRecords
import Monitoring
import PaymentStores
import PullboxAPI
import ServiceAPI
package import ServiceRuntime
import Synchronization
import SystemCalls

/// Asks stores that were away about the proofs that were served meanwhile: one proof until the store has answered, then
/// some at once. A store that vouches for it confirms the grants; one that refuses it takes them back.
///
///     await GrantConfirmation(grants: grants, lease: lease, log: log).run(timer: timer)
///
/// Decision 34 (docs/decisions) says why such proofs are served. A proof that waits is in one of four states
/// after a look: the store vouched for it or refused it, and it waits no longer; the store was silent, and it
/// is first in line for another look; or this server refuses it by itself, and it stays marked.
package final class GrantConfirmation: Sendable {
  /// How often a store that is away is tried; its breaker lets no more probes through.
  package static let interval: Duration = .seconds(30)
  /// Proofs that are read and asked about at once, and what they may take together unless it is one alone.
  package static let batch = 16
  static let batchLength = ByteCount.mebibytes(4)

  private let grants: GrantService
  /// Without one, no other process uses the database.
  private let lease: WorkerLease?
  private let log: Log
  /// By store: the proof that it was silent about last. The next look begins behind it, so that one proof that it never
  /// answers keeps the others from nothing.
  private let silent = Mutex<[String: Int64]>([:])
  private let refusals = RefusedProofs()

  /// Creates the work without beginning it. `log` gets what this server refuses, and passes that fail.
  package init(grants: GrantService, lease: WorkerLease? = nil, log: Log) {
    self.grants = grants
    self.lease = lease
    self.log = log
  }

  private var database: Database { grants.grantStore.database }

  /// Runs until the task is cancelled.
  package func run(timer: any MonotonicClock) async {
    await Worker(clock: timer).run(every: Self.interval) { [self] in
      guard try await lease?.isHeld() ?? true else { return }
      try await pass()
    } onFailure: { [log] error in
      log.error("grants cannot be confirmed", ["error": LogValue(error)])
    }
  }

  /// One look at what waits: all of it where its store answers, and one proof where it does not.
  func pass() async throws {
    var name = ""
    while true {
      let last = name
      guard let store = try await database.read({ try UnconfirmedTable.store(after: last, in: $0) }) else {
        return
      }
      try await ask(store)
      name = store
    }
  }

  /// Asks one store about its waiting proofs, beginning behind the one that it was silent about last and ending
  /// there. The first question is about one proof alone; once the store answers, ``batch`` are asked about at
  /// once.
  private func ask(_ store: String) async throws {
    let start = silent.locked { $0[store] ?? 0 }
    var limit = 1
    for part in start == 0 ? [0..<Int64.max] : [start..<Int64.max, 0..<start] {
      var position = part.lowerBound
      while true {
        let page = try await page(of: store, from: position, to: part.upperBound, limit: limit)
        guard let last = page.last else { break }
        switch try await confirm(page) {
        case .answered: break
        case .silent:
          silent.locked { $0[store] = last }
          return
        case .notAsked: return
        }
        limit = Self.batch
        position = last
      }
    }
    silent.locked { $0[store] = nil }
  }

  /// The next proofs behind `position`, up to `end`, that are to be asked about now. Proofs that this server
  /// refused by itself are left out until they are due. The lengths of a page add up to ``batchLength`` at
  /// most, unless it is one proof. Empty where nothing is left.
  private func page(
    of store: String, from position: Int64, to end: Int64, limit: Int
  ) async throws -> [Int64] {
    let now = grants.verifier.timer.now()
    var position = position
    while true {
      let after = position
      let places = try await database.read {
        try UnconfirmedTable.places(of: store, after: after, limit: Self.batch, in: $0)
      }.filter { $0.id <= end }
      guard let last = places.last else { return [] }
      position = last.id
      var page: [Int64] = []
      var length = ByteCount.zero
      for place in places where page.count < limit && refusals.isDue(place.id, at: now) {
        length += place.length
        guard page.isEmpty || length <= Self.batchLength else { break }
        page.append(place.id)
      }
      if !page.isEmpty { return page }
    }
  }

  /// A store's answer to questions about some proofs.
  private enum Answer: Int, Comparable {
    /// Its breaker let no question through.
    case notAsked
    /// It was asked, and did not answer.
    case silent
    /// It answered, whatever it said.
    case answered

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  /// Asks about the proofs of a page side by side and returns the best answer among them.
  private func confirm(_ page: [Int64]) async throws -> Answer {
    try await withThrowingTaskGroup(of: Answer.self) { group in
      for id in page {
        group.addTask { [self] in
          guard let waiting = try await database.read({ try UnconfirmedTable.waiting(id, in: $0) }) else {
            refusals.forget(id)
            return .answered
          }
          return try await confirm(waiting)
        }
      }
      return try await group.reduce(.notAsked) { max($0, $1) }
    }
  }

  /// A store that the configuration does not know at the moment is silent. What this server refuses by itself stays marked, and is
  /// asked about again, ever more rarely.
  private func confirm(_ waiting: UnconfirmedTable.Waiting) async throws -> Answer {
    let answer: ProofVerifier.Confirmation
    let proof = await BlockingPool.computing.run { waiting.decoded() }
    do {
      guard let proof else { throw Problem(.receiptMalformed) }
      answer = try await grants.verifier.confirm(
        proof, as: try grants.verifier.key(of: proof), for: "confirmation", apply: grants.keep(shownBy: nil))
    } catch let problem as Problem {
      if problem.code == .storeUnknown { return .silent }
      guard proof == nil else { throw problem }
      answer = .refused(problem)
    }
    switch answer {
    case .vouched:
      try await database.write(locking: [.proof(waiting.digest)]) {
        try UnconfirmedTable.remove(waiting.id, in: $0)
      }
    case .refused(let problem): try await refuse(waiting, because: problem)
    case .refusedHere(let problem):
      refusals.note(waiting.id, at: grants.verifier.timer.now())
      log.warning(
        "this server takes a proof no more that was good: its grants stay marked",
        ["store": LogValue(waiting.store), "problem": LogValue(problem.code?.text ?? "refused")])
    case .silent(let wasAsked):
      let isStopped = StoreIdentifier(waiting.store).map { grants.verifier.standing(of: $0).isOpen } ?? false
      return wasAsked || !isStopped ? .silent : .notAsked
    }
    if case .refusedHere = answer { return .answered }
    refusals.forget(waiting.id)
    return .answered
  }

  /// Revokes every grant that rests on the proof, then forgets the proof. A stop between the two leaves the
  /// proof marked, and the next pass goes on. Grants that are made meanwhile are revoked as well.
  private func refuse(_ waiting: UnconfirmedTable.Waiting, because problem: Problem) async throws {
    let reason =
      "the store refused the proof when it could be asked again: \(problem.code?.text ?? "refused")"
    var revoked: Set<Int64> = []
    var isForgotten = false
    while !isForgotten {
      let resting = try await database.read { try UnconfirmedTable.grants(restingOn: waiting.id, in: $0) }
      for grant in resting where revoked.insert(grant.number).inserted {
        _ = try await grants.revoke(grant.handle.shortName, by: AuditTable.serverActor, reason: reason)
      }
      let known = revoked
      isForgotten = try await database.write(locking: [.proof(waiting.digest)]) { connection in
        let resting = try UnconfirmedTable.grants(restingOn: waiting.id, in: connection)
        guard resting.allSatisfy({ known.contains($0.number) }) else { return false }
        try UnconfirmedTable.remove(waiting.id, in: connection)
        if let store = StoreIdentifier(waiting.store) {
          try RememberedProofTable.forget(waiting.digest, at: store, in: connection)
        }
        return true
      }
    }
  }
}

/// Proofs that this server refused by itself, and when it asks about each again: as often as there are such proofs would be more
/// than a store allows. At most as many as are marked.
private final class RefusedProofs: Sendable {
  private static let backoff = Backoff(initial: .seconds(60), cap: .seconds(3600), jitter: 0)
  private let refusals = Mutex<[Int64: (count: Int, next: MonotonicInstant)]>([:])

  /// Whether the proof may be asked about; true for one that was never refused here.
  func isDue(_ proof: Int64, at now: MonotonicInstant) -> Bool {
    refusals.locked { $0[proof].map { $0.next <= now } ?? true }
  }

  /// Counts a refusal and puts the next question off: 60 seconds, and up to an hour after more of them.
  func note(_ proof: Int64, at now: MonotonicInstant) {
    refusals.locked { refusals in
      // Two that asked at once heard the same.
      if let known = refusals[proof], now < known.next { return }
      let count = (refusals[proof]?.count ?? 0) + 1
      refusals[proof] = (count, now + Self.backoff.delay(afterFailures: count))
    }
  }

  /// Forgets the refusals of a proof that waits no longer.
  func forget(_ proof: Int64) {
    refusals.locked { $0[proof] = nil }
  }
}

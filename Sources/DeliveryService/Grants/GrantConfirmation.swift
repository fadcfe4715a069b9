import Commerce
import CoreTypes
import Database
import Monitoring
import PullboxAPI
import ServiceRuntime
import Synchronization

/// Asks stores that were away about the proofs that were served meanwhile: one proof until the store has answered, then
/// some at once. A store that vouches for it confirms the grants; one that refuses it takes them back.
///
///     await GrantConfirmation(grants: grants, lease: lease, log: log).run(timer: timer)
struct GrantConfirmation: Sendable {
  /// How often a store that is away is tried; its breaker lets no more probes through.
  static let interval: Duration = .seconds(30)
  private static let batch = 16

  let grants: GrantService
  /// Without one, no other process uses the database.
  var lease: WorkerLease?
  let log: Log
  private let refusals = RefusedProofs()

  init(grants: GrantService, lease: WorkerLease? = nil, log: Log) {
    self.grants = grants
    self.lease = lease
    self.log = log
  }

  private var database: Database { grants.grantStore.database }

  /// Runs until the task is cancelled.
  func run(timer: any MonotonicClock) async {
    await Worker(clock: timer).run(every: Self.interval) {
      guard try await lease?.isHeld() ?? true else { return }
      try await pass()
    } onFailure: { error in
      log.error("grants cannot be confirmed", ["error": LogValue(error)])
    }
  }

  /// One look at all that waits.
  func pass() async throws {
    var (position, present, away) = (Int64(0), Set<String>(), Set<String>())
    while true {
      let after = position
      let page = try await database.read {
        try UnconfirmedTable.waiting(after: after, limit: Self.batch, in: $0)
      }
      guard let last = page.last else { return }
      position = last.id
      let now = grants.verifier.timer.now()
      var rest = page.filter { refusals.isDue($0.id, at: now) }[...]
      while let first = rest.first, !present.contains(first.store) {
        rest.removeFirst()
        if away.contains(first.store) { continue }
        if try await confirm(first) { present.insert(first.store) } else { away.insert(first.store) }
      }
      let known = rest.filter { !away.contains($0.store) }
      let silent = try await withThrowingTaskGroup(of: String?.self) { group in
        for proof in known { group.addTask { try await confirm(proof) ? nil : proof.store } }
        return try await group.reduce(into: Set<String>()) { stores, store in
          if let store { stores.insert(store) }
        }
      }
      present.subtract(silent)
      away.formUnion(silent)
    }
  }

  /// Whether the store has answered. One that the configuration does not know at the moment has not. What this server
  /// refuses by itself stays marked, and is asked about again, ever more rarely.
  private func confirm(_ waiting: UnconfirmedTable.Waiting) async throws -> Bool {
    let answer: ProofVerifier.Confirmation
    do {
      guard let proof = waiting.proof else { throw Problem(.receiptMalformed) }
      answer = try await grants.verifier.confirm(
        proof, as: try grants.verifier.key(of: proof), for: "confirmation", apply: grants.keep(shownBy: nil))
    } catch let problem as Problem {
      if problem.code == .storeUnknown { return false }
      guard waiting.proof == nil else { throw problem }
      answer = .refused(problem)
    }
    switch answer {
    case .vouched:
      try await database.write(locking: [.everything]) { try UnconfirmedTable.remove(waiting.id, in: $0) }
    case .refused(let problem): try await refuse(waiting, because: problem)
    case .refusedHere(let problem):
      refusals.note(waiting.id, at: grants.verifier.timer.now())
      log.warning(
        "this server takes a proof no more that was good: its grants stay marked",
        ["store": LogValue(waiting.store), "problem": LogValue(problem.code?.text ?? "refused")])
    case .silent: return false
    }
    if case .refusedHere = answer { return true }
    refusals.forget(waiting.id)
    return true
  }

  private func refuse(_ waiting: UnconfirmedTable.Waiting, because problem: Problem) async throws {
    let resting = try await database.read { try UnconfirmedTable.grants(restingOn: waiting.id, in: $0) }
    let reason =
      "the store refused the proof when it could be asked again: \(problem.code?.text ?? "refused")"
    for grant in resting {
      _ = try await grants.revoke(grant.handle.shortName, by: AuditTable.serverActor, reason: reason)
    }
    try await database.write(locking: [.everything]) { connection in
      try UnconfirmedTable.remove(waiting.id, in: connection)
      if let store = StoreIdentifier(waiting.store) {
        try RememberedProofTable.forget(waiting.digest, at: store, in: connection)
      }
    }
  }
}

/// Proofs that this server refused by itself, and when it asks about each again: as often as there are such proofs would be more
/// than a store allows. At most as many as are marked.
private final class RefusedProofs: Sendable {
  private static let backoff = Backoff(initial: .seconds(60), cap: .seconds(3600), jitter: 0)
  private let refusals = Mutex<[Int64: (count: Int, next: MonotonicInstant)]>([:])

  func isDue(_ proof: Int64, at now: MonotonicInstant) -> Bool {
    refusals.withLock { $0[proof].map { $0.next <= now } ?? true }
  }

  func note(_ proof: Int64, at now: MonotonicInstant) {
    refusals.withLock { refusals in
      // Two that asked at once heard the same.
      if let known = refusals[proof], now < known.next { return }
      let count = (refusals[proof]?.count ?? 0) + 1
      refusals[proof] = (count, now + Self.backoff.delay(afterFailures: count))
    }
  }

  func forget(_ proof: Int64) {
    refusals.withLock { $0[proof] = nil }
  }
}

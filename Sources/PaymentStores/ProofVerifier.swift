package import Commerce
package import CoreTypes
import Crypto
package import Monitoring
package import PullboxAPI
package import ServiceAPI
package import ServiceRuntime
import Synchronization

/// Asks the stores about proofs, each about one proof once: what a store said is believed for a while
/// (``VerdictCache``), and requests with the same proof at the same moment share one question (``SharedQuestions``).
///
///     let key = try verifier.key(of: proof)
///     let verified = try verifier.known(key) ?? await verifier.ask(about: proof, as: key, for: request.id) { … }
///
/// A verdict is true of the proof, not of the device that brought it: the caller compares the binding with the device.
/// Refusals are thrown as `Problem`.
///
/// A proof is judged in this order: by the verdict that is kept, by a question that is asked already, and by a
/// question of its own, if the store's breaker permits it.
package final class ProofVerifier: Sendable {
  private let stores: [StoreIdentifier: any PaymentStoreClient]
  /// Whether a store is asked at all, for each store.
  private let breakers: Mutex<[StoreIdentifier: CircuitBreaker]>
  private let clock: any WallClock
  /// The clock of verdicts and breakers.
  package let timer: any MonotonicClock
  private let log: Log
  private let cache = Mutex(VerdictCache())
  private let questions = SharedQuestions<VerdictCache.Key, VerifiedProof>()
  private let cached = Atomic<Int>(0)
  private let shared = Atomic<Int>(0)
  private let asked = Atomic<Int>(0)
  private let spared = Atomic<Int>(0)

  /// Creates a verifier; every store has a breaker of its own, and each store's name must be another.
  package init(stores: [any PaymentStoreClient], clock: any WallClock, timer: any MonotonicClock, log: Log) {
    self.stores = Dictionary(uniqueKeysWithValues: stores.map { ($0.name, $0) })
    breakers = Mutex(self.stores.mapValues { _ in CircuitBreaker() })
    self.clock = clock
    self.timer = timer
    self.log = log
  }

  /// Requests that wait for a store.
  package var waiterCount: Int { questions.waiterCount }

  /// Returns the state of a store, as the questions to it have shown it.
  package func standing(of store: StoreIdentifier) -> CircuitBreaker.Standing {
    let now = timer.now()
    return breakers.locked { $0[store]?.standing(at: now) } ?? CircuitBreaker.Standing()
  }

  /// Returns the key of the proof in the cache of verdicts. Throws `store-unknown`.
  package func key(of proof: Proof) throws(Problem) -> VerdictCache.Key {
    let store = try store(named: proof.store)
    var hasher = SHA256Hasher()
    // The kind of proof is a part of it, and where each text ends.
    for text in [proof.receipt, proof.signedTransaction, proof.purchaseToken] {
      hasher.update("\(text?.utf8.count ?? -1):".utf8.span)
      hasher.update((text ?? "").utf8.span)
    }
    return VerdictCache.Key(store: store.name, digest: hasher.finalize())
  }

  /// Returns the store's verdict on the proof from a short while ago; nil when the store must be asked. Throws the problem
  /// that the store refused the proof with.
  package func known(_ key: VerdictCache.Key) throws(Problem) -> VerifiedProof? {
    let (instant, date) = (timer.now(), clock.now())
    guard let verdict = cache.locked({ $0.verdict(for: key, at: instant, date: date) }) else { return nil }
    cached.add(1, ordering: .relaxed)
    switch verdict {
    case .verified(let proof): return proof
    case .refused(let problem): throw problem
    }
  }

  /// Whether ``known(_:)`` would answer, or throw.
  package func knows(_ key: VerdictCache.Key) -> Bool {
    let (instant, date) = (timer.now(), clock.now())
    return cache.locked { $0.verdict(for: key, at: instant, date: date) } != nil
  }

  /// Asks the store, or waits for the answer to the same question. `apply` is called once with what the store
  /// vouches for, before anything else learns of it, and answers what holds of it: something later may be known of a
  /// transaction than this proof says. What it throws, all who wait get. `request` is who the log says has asked.
  package func ask(
    about proof: Proof, as key: VerdictCache.Key, for request: String,
    apply: @escaping @Sendable ([VerifiedTransaction]) async throws -> [VerifiedTransaction]
  ) async throws -> VerifiedProof {
    do {
      return try await question(about: proof, as: key, for: request, apply: apply)
    } catch let refusal as StoreRefusal {
      throw refusal.problem
    }
  }

  /// The outcome of asking a store again about a proof that was good.
  package enum Confirmation: Sendable {
    /// The store vouches for it, now or a short while ago.
    case vouched
    /// The store knows nothing of it any more, or it has ended.
    case refused(Problem)
    /// This server takes no such proof at the moment: its configuration has changed, or a certificate has ended since. That
    /// says nothing of the purchase.
    case refusedHere(Problem)
    /// The store has not answered, or could not be asked.
    case silent(wasAsked: Bool)
  }

  /// Asks the store about a proof that was good before. `apply` is that of ``ask(about:as:for:apply:)``. Throws what `apply`
  /// throws.
  package func confirm(
    _ proof: Proof, as key: VerdictCache.Key, for request: String,
    apply: @escaping @Sendable ([VerifiedTransaction]) async throws -> [VerifiedTransaction]
  ) async throws -> Confirmation {
    // A refusal that is remembered does not tell whose word it was, and a client that repeats it keeps it remembered: the store
    // is asked.
    if (try? known(key)) != nil { return .vouched }
    do {
      _ = try await question(about: proof, as: key, for: request, apply: apply)
      return .vouched
    } catch let refusal as StoreRefusal {
      switch refusal.kind {
      case .undetermined(let outcome): return .silent(wasAsked: outcome != .abandoned)
      case .abandoned: return .silent(wasAsked: false)
      case .final:
        return refusal.isAboutProof ? .refused(refusal.problem) : .refusedHere(refusal.problem)
      }
    } catch let problem as Problem where problem.code == .entitlementExpired {
      return .refused(problem)
    }
  }

  /// The same as ``ask(about:as:for:apply:)``, with what a refusal rests on: throws ``StoreRefusal``, and what `apply` throws.
  package func question(
    about proof: Proof, as key: VerdictCache.Key, for request: String,
    apply: @escaping @Sendable ([VerifiedTransaction]) async throws -> [VerifiedTransaction]
  ) async throws -> VerifiedProof {
    let (answer, isShared) = try await questions.answer(to: key) { [self] in
      try await verify(proof, as: key, for: request, apply: apply)
    }
    if isShared { shared.add(1, ordering: .relaxed) }
    return answer
  }

  /// Whether the store can be asked about transactions by their names alone.
  package func tellsOfTransactions(_ store: StoreIdentifier) -> Bool {
    stores[store]?.tellsOfTransactions == true
  }

  /// Whether one of the stores can.
  package var tellsOfTransactions: Bool { stores.values.contains { $0.tellsOfTransactions } }

  /// How a transaction stands, which its store is asked now, whatever it said a short while ago. Nil where the store tells of none
  /// by its name. Throws ``StoreRefusal``.
  package func standing(of transaction: TransactionKey, for request: String) async throws
    -> VerifiedTransaction?
  {
    guard let store = stores[transaction.store], store.tellsOfTransactions else { return nil }
    let permit = try permit(toAsk: transaction.store)
    do throws(StoreRefusal) {
      let told = try await store.standing(of: transaction.id)
      note(.answered, of: permit, from: transaction.store)
      return told
    } catch {
      note(CircuitBreaker.Outcome(error), of: permit, from: transaction.store)
      logCause(of: error, from: transaction.store, for: request)
      throw error
    }
  }

  /// Counts the question. Throws ``StoreRefusal`` while the store is asked nothing.
  private func permit(toAsk store: StoreIdentifier) throws(StoreRefusal) -> CircuitBreaker.Permit {
    let instant = timer.now()
    let permit = breakers.locked { $0[store]?.permit(at: instant) ?? .call(at: instant) }
    if case .wait(let duration) = permit {
      spared.add(1, ordering: .relaxed)
      throw .undetermined(retryAfter: duration, cause: "the breaker is open", outcome: .abandoned)
    }
    asked.add(1, ordering: .relaxed)
    return permit
  }

  /// Logs why a store could not be asked. What it refuses by its own word is no news for the log.
  private func logCause(of refusal: StoreRefusal, from store: StoreIdentifier, for request: String) {
    if case .final = refusal.kind { return }
    guard let cause = refusal.cause else { return }
    log.warning(
      "the store cannot be asked",
      ["request": LogValue(request), "store": LogValue(store), "error": LogValue(cause)])
  }

  /// Something later is known of these transactions than what was said before.
  package func forget(_ transactions: [VerifiedTransaction]) {
    let (keys, instant) = (Set(transactions.map(\.key)), timer.now())
    cache.locked { $0.forget(keys, at: instant) }
  }

  /// Asks the store and keeps its verdict, once `apply` has returned. Whatever `apply` throws, no verdict is
  /// kept.
  private func verify(
    _ proof: Proof, as key: VerdictCache.Key, for request: String,
    apply: @Sendable ([VerifiedTransaction]) async throws -> [VerifiedTransaction]
  ) async throws -> VerifiedProof {
    guard let store = stores[key.store] else { throw Problem(.storeUnknown) }
    let (instant, date) = (timer.now(), clock.now())
    let permit = try permit(toAsk: key.store)
    let revision = cache.locked { $0.revision }
    func keep(_ verdict: VerdictCache.Verdict) {
      cache.locked { $0.insert(verdict, for: key, askedAt: instant, date: date, revision: revision) }
    }
    var verified: VerifiedProof
    do throws(StoreRefusal) {
      verified = try await store.verify(proof, digest: key.digest)
      note(.answered, of: permit, from: key.store)
    } catch {
      note(CircuitBreaker.Outcome(error), of: permit, from: key.store)
      if case .final = error.kind { keep(.refused(error.problem)) }
      logCause(of: error, from: key.store, for: request)
      throw error
    }
    verified.transactions = try await apply(verified.transactions)
    // Another receipt of the same purchases may have told that they end.
    verified.expires = [verified.expires, verified.licenseEnd].compactMap { $0 }.min()
    if let end = verified.expires, end <= date {
      let problem = Problem(.entitlementExpired, "the license that the receipt was made for has ended")
      keep(.refused(problem))
      throw problem
    }
    keep(.verified(verified))
    return verified
  }

  /// Tells the breaker how a question ended, and logs where that opens or closes it.
  private func note(
    _ outcome: CircuitBreaker.Outcome, of permit: CircuitBreaker.Permit, from store: StoreIdentifier
  ) {
    let now = timer.now()
    let (wasOpen, isOpen) = breakers.locked { breakers in
      let wasOpen = breakers[store]?.isOpen == true
      breakers[store]?.note(outcome, of: permit, at: now)
      return (wasOpen, breakers[store]?.isOpen == true)
    }
    guard wasOpen != isOpen else { return }
    if isOpen {
      log.error("the store is asked no more until it answers a probe", ["store": LogValue(store)])
    } else {
      log.info("the store answers again", ["store": LogValue(store)])
    }
  }

  /// Returns the store of that name, or without a name the only one. Throws `store-unknown`.
  private func store(named name: String?) throws(Problem) -> any PaymentStoreClient {
    guard let name else {
      guard stores.count == 1, let only = stores.values.first else {
        throw Problem(.storeUnknown, "store is missing; this server knows \(knownStores)")
      }
      return only
    }
    guard let identifier = StoreIdentifier(name), let store = stores[identifier] else {
      throw Problem(.storeUnknown, "this server knows \(knownStores)")
    }
    return store
  }

  private var knownStores: String { stores.keys.map(\.description).sorted().joined(separator: ", ") }
}

extension ProofVerifier: MetricSource {
  package func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter(
        "pullbox_verdicts_total", help: "Proofs judged, by where the verdict is from.", labels: ["from"]
      ) {
        [
          .init(self.cached.load(ordering: .relaxed), labels: ["cache"]),
          .init(self.shared.load(ordering: .relaxed), labels: ["shared"]),
          .init(self.asked.load(ordering: .relaxed), labels: ["store"]),
          .init(self.spared.load(ordering: .relaxed), labels: ["breaker"]),
        ]
      },
      .gauge(
        "pullbox_store_questions_stopped", help: "1 while a store is not asked, but for probes.",
        labels: ["store"]
      ) {
        self.breakers.locked { breakers in
          breakers.sorted { $0.key.description < $1.key.description }
            .map { .init($0.value.isOpen ? 1 : 0, labels: [$0.key.description]) }
        }
      },
      .gauge("pullbox_verdicts_cached", help: "Verdicts of stores that are kept.") {
        self.cache.locked { $0.count }
      },
    ])
  }
}

extension CircuitBreaker.Outcome {
  /// Creates the outcome that a refusal has for the circuit breaker of the store that it came from.
  fileprivate init(_ refusal: StoreRefusal) {
    switch refusal.kind {
    case .final(onStoresWord: true): self = .answered
    case .undetermined(let outcome): self = outcome
    case .final(onStoresWord: false), .abandoned: self = .abandoned
    }
  }
}

package import Commerce
import CoreTypes
import PaymentStores
import PullboxAPI
import ServiceAPI

/// The proofs of one request, each with what its store says of it.
struct ShownProofs: Sendable {
  /// One that is good.
  struct Good: Sendable {
    /// The proof as the request has it.
    var proof: Proof
    /// The store and the digest of the proof.
    var key: VerdictCache.Key
    /// The store's word on it.
    var verdict: GrantService.Verdict
  }

  /// In the order of the request; never empty.
  let good: [Good]
  /// The refusals of the other proofs.
  let problems: [ProofRefusal]

  /// Throws the most telling refusal where none is good.
  init(_ results: [Result<Good, Problem>]) throws(Problem) {
    var (good, problems): ([Good], [ProofRefusal]) = ([], [])
    for (place, result) in results.enumerated() {
      switch result {
      case .success(let proof): good.append(proof)
      case .failure(let problem): problems.append(ProofRefusal(proof: place, problem: problem))
      }
    }
    (self.good, self.problems) = (good, problems)
    if good.isEmpty, let problem = Problem.mostTelling(problems.map(\.problem)) { throw problem }
  }

  /// The transactions of all good proofs, in the order of the proofs; one may occur twice.
  var transactions: [VerifiedTransaction] { good.flatMap(\.verdict.transactions) }

  /// The transactions of each store and environment, in the order of the proofs.
  var purchases: [[VerifiedTransaction]] { transactions.byStore }
}

private struct StorePlace: Hashable {
  var store: StoreIdentifier
  var environment: StoreEnvironment
}

extension [VerifiedTransaction] {
  /// Those of each store and environment, in the order in which the first of each comes: transactions of different stores may have
  /// the same number, so each is judged with those of its own store.
  package var byStore: [[VerifiedTransaction]] {
    var places: [StorePlace: Int] = [:]
    var groups: [[VerifiedTransaction]] = []
    for transaction in self {
      let place = StorePlace(store: transaction.store, environment: transaction.environment)
      if let index = places[place] {
        groups[index].append(transaction)
      } else {
        places[place] = groups.endIndex
        groups.append([transaction])
      }
    }
    return groups
  }
}

extension Problem {
  /// Returns the refusal that tells most, of several refusals of one thing: the first that may differ when it is asked
  /// again, else the first that says more than that nothing was bought, else the first.
  static func mostTelling(_ problems: [Problem]) -> Problem? {
    problems.first { $0.code == .verificationUndetermined }
      ?? problems.first { $0.code != .purchaseRequired } ?? problems.first
  }
}

extension GrantService {
  /// Asks about all proofs at once. Of what is verified the ledger takes in what it never heard of, if `recordsNew`.
  /// Throws what ``ShownProofs/init(_:)`` throws.
  ///
  /// The questions run side by side, and the results are in the order of the proofs.
  func judge(
    _ proofs: ProofList, for device: DeviceIdentifier, recordsNew: Bool, asked id: String
  ) async throws -> ShownProofs {
    typealias Judged = (place: Int, result: Result<ShownProofs.Good, Problem>)
    let results = try await withThrowingTaskGroup(of: Judged.self) { group in
      for (place, proof) in proofs.all.enumerated() {
        group.addTask {
          do {
            let key = try verifier.key(of: proof)
            return (
              place,
              .success(try await judge(proof, as: key, for: device, recordsNew: recordsNew, asked: id))
            )
          } catch let problem as Problem {
            return (place, .failure(problem))
          }
        }
      }
      var results: [Int: Result<ShownProofs.Good, Problem>] = [:]
      for try await (place, result) in group { results[place] = result }
      return proofs.all.indices.compactMap { results[$0] }
    }
    return try ShownProofs(results)
  }

  /// Asks about one proof, unless that was done a moment ago. Throws what it is refused with.
  func judge(
    _ proof: Proof, as key: VerdictCache.Key, for device: DeviceIdentifier, recordsNew: Bool,
    asked id: String
  ) async throws -> ShownProofs.Good {
    if let known = try verifier.known(key) {
      try Self.requireBinding(of: known, to: device)
      let verdict = Verdict(transactions: known.transactions, source: .cache)
      return ShownProofs.Good(proof: proof, key: key, verdict: verdict)
    }
    let verdict = try await ask(
      about: proof, as: key, for: device, asked: id, apply: keep(shownBy: recordsNew ? device : nil))
    return ShownProofs.Good(proof: proof, key: key, verdict: verdict)
  }

  /// The purchases that one request shows at several stores are one customer's from now on, those of one environment together:
  /// what costs nothing is not joined with what does. ``GrantStore/join(_:)`` says which stay apart.
  func join(_ proofs: [ShownProofs.Good], shownBy device: DeviceIdentifier) async throws {
    for environment in StoreEnvironment.allCases {
      let shown = proofs.map { proof in
        proof.verdict.transactions.filter { $0.environment == environment }
      }.filter { !$0.isEmpty }
      guard Set(shown.joined().map(\.store)).count > 1 else { continue }
      for transactions in shown { _ = try await record(transactions, by: .answer(), shownBy: device) }
      try await grantStore.join(shown.joined().map(\.key))
    }
  }
}

import Commerce
package import ContentDelivery
package import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
import ServiceAPI
package import ServiceRuntime

/// Asks the stores again about the purchases whose content is being sent at the moment, whatever they said a short while ago: a refund
/// that no notification tells of, but the store when it is asked, ends a body within one poll. What is not answered is asked again the next
/// time. In a publication that closes its issues with the subscription, the newest payment for that is asked about as well. An app receipt tells of a single issue what was so when it was made, so a store that tells of transactions by their names is
/// asked about those; so it is where no proof is known.
///
///     await RefundPoll(grants: grants, meters: meters, refunds: sweep, interval: .seconds(300), log: log).run(timer: timer)
package struct RefundPoll: Sendable {
  /// Questions to stores that run at once.
  package static let concurrency = 16

  /// Has the proofs of running downloads, and takes in what stores say.
  package let grants: GrantService
  /// Knows which grants have bodies on their way.
  package let meters: MeterRegistry
  /// The list of Google's refunds, which is read as well: Google's answers about tokens do not tell of all refunds.
  package let refunds: VoidedPurchaseSweep
  /// The pause between two passes.
  package let interval: Duration
  package let log: Log

  /// Creates the poll; ``run(timer:)`` makes it ask.
  package init(
    grants: GrantService, meters: MeterRegistry, refunds: VoidedPurchaseSweep, interval: Duration, log: Log
  ) {
    self.grants = grants
    self.meters = meters
    self.refunds = refunds
    self.interval = interval
    self.log = log
  }

  /// One question to a store.
  private enum Question: Sendable {
    /// About a proof, which a device showed to this process.
    case proof(RecentProofs.Entry)
    /// About a transaction by its number.
    case transaction(TransactionKey)

    /// The store that is asked.
    var store: StoreIdentifier {
      switch self {
      case .proof(let entry): entry.key.store
      case .transaction(let key): key.store
      }
    }
  }

  /// Runs until the task is cancelled.
  package func run(timer: any MonotonicClock) async {
    await Worker(clock: timer).run(every: interval) {
      try await pass()
    } onFailure: { error in
      log.warning("refunds of what is being sent cannot be looked for", ["error": LogValue(error)])
    }
  }

  /// One look at all bodies that run. Throws ``DatabaseError``; refusals of stores are logged.
  func pass() async throws {
    let running = meters.all { $0.hasBodies }.map(\.handle)
    try await ask(questions(about: running))
    // A refund that another process, or a request that ended too early, has written down.
    try await grants.closeIssues(of: running)
  }

  /// Asks ``concurrency`` questions at a time, and reads Google's list where one of its stores was among them.
  private func ask(_ questions: [Question]) async throws {
    guard !questions.isEmpty else { return }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, question) in questions.enumerated() {
        if number >= Self.concurrency { try await group.next() }
        group.addTask { try await ask(question) }
      }
      try await group.waitForAll()
    }
    let stores = Set(questions.map(\.store))
    if refunds.stores.contains(where: { stores.contains($0.name) }) { try await refunds.read() }
  }

  /// One for each proof, or transaction, however many bodies rest on it.
  private func questions(about running: [DeliveryHandle]) async throws -> [Question] {
    let proofs = grants.recentProofs.proofs(of: running)
    let byName = proofs.filter {
      $0.proof.receipt != nil && grants.verifier.tellsOfTransactions($0.key.store)
    }
    let keys = Set(byName.map(\.key))
    // Granted before this server began, or by another one.
    let unknown = Set(running).subtracting(proofs.flatMap(\.grants))
    var named = try await transactions(of: byName.flatMap(\.grants) + unknown)
    // What keeps an issue open may be another payment than the one that it was granted for.
    if grants.verifier.tellsOfTransactions {
      named.formUnion(
        try await grants.subscriptions(behind: running).filter {
          grants.verifier.tellsOfTransactions($0.store)
        })
    }
    return proofs.filter { !keys.contains($0.key) }.map(Question.proof) + named.map(Question.transaction)
  }

  /// Returns the transactions that pay for the grants, at stores that can be asked about them, each once.
  private func transactions(of handles: [DeliveryHandle]) async throws -> Set<TransactionKey> {
    guard !handles.isEmpty, grants.verifier.tellsOfTransactions else { return [] }
    let keys = try await grants.grantStore.database.read { connection in
      try handles.compactMap { try GrantTable.find($0, in: connection)?.transactionKey }
    }
    return Set(keys.filter { grants.verifier.tellsOfTransactions($0.store) })
  }

  private func ask(_ question: Question) async throws {
    do {
      switch question {
      case .proof(let entry):
        _ = try await grants.verifier.ask(
          about: entry.proof, as: entry.key, for: Self.asker, apply: grants.keep(shownBy: nil))
      case .transaction(let key):
        guard let told = try await grants.verifier.standing(of: key, for: Self.asker) else { return }
        _ = try await grants.keep(shownBy: nil)([told])
      }
    } catch let refusal as StoreRefusal {
      note(refusal.problem, of: question)
    } catch let problem as Problem {
      note(problem, of: question)
    }
  }

  private static let asker = "refund poll"

  private func note(_ problem: Problem, of question: Question) {
    // Why a store does not answer is in the log. What it, or this server, refuses now says nothing of a refund.
    guard problem.code != .verificationUndetermined else { return }
    log.warning(
      "a proof whose content is being sent is not taken any more",
      ["store": LogValue(question.store), "problem": LogValue(problem.code?.text ?? "refused")])
  }
}

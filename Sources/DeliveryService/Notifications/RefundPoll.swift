import Commerce
import CoreTypes
import PullboxAPI
import ServiceRuntime

/// Asks the stores again about the purchases whose content is being sent at the moment, whatever they said a short while ago: a refund
/// that no notification tells of, but the store when it is asked, ends a body within one poll. What is not answered is asked again the next
/// time. About an app receipt stores tell what was so when it was made, and of subscriptions what is.
///
///     await RefundPoll(grants: grants, meters: meters, refunds: sweep, interval: .seconds(300), log: log).run(timer: timer)
struct RefundPoll: Sendable {
  /// Questions to stores that run at once.
  static let concurrency = 16

  let grants: GrantService
  let meters: MeterRegistry
  /// What Google says of a token does not tell of all refunds: its list of them is read as well.
  let refunds: VoidedPurchaseSweep
  let interval: Duration
  let log: Log

  /// Runs until the task is cancelled.
  func run(timer: any MonotonicClock) async {
    await Worker(clock: timer).run(every: interval) {
      try await pass()
    } onFailure: { error in
      log.warning("refunds of what is being sent cannot be looked for", ["error": LogValue(error)])
    }
  }

  /// One look at all bodies that run.
  func pass() async throws {
    let running = meters.all { $0.hasBodies }.map(\.handle)
    let proofs = grants.recentProofs.proofs(of: running)
    guard !proofs.isEmpty else { return }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, entry) in proofs.enumerated() {
        if number >= Self.concurrency { try await group.next() }
        group.addTask { try await ask(about: entry) }
      }
      try await group.waitForAll()
    }
    let stores = Set(proofs.map(\.key.store))
    if refunds.stores.contains(where: { stores.contains($0.name) }) { try await refunds.read() }
  }

  private func ask(about entry: RecentProofs.Entry) async throws {
    do {
      _ = try await grants.verifier.ask(
        about: entry.proof, as: entry.key, for: "refund poll", apply: grants.keep(shownBy: nil))
    } catch let problem as Problem {
      // Why a store does not answer is in the log. What it, or this server, refuses now says nothing of a refund.
      guard problem.code != .verificationUndetermined else { return }
      log.warning(
        "a proof whose content is being sent is not taken any more",
        ["store": LogValue(entry.key.store), "problem": LogValue(problem.code?.text ?? "refused")])
    }
  }
}

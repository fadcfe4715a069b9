import CoreTypes
import PullboxAPI
import PullboxAPIClient

/// Keeps the account's receipt for a moment, so that the questions of one turn share it: fetched once, however many ask
/// at the same time.
actor ReceiptCache {
  /// How long a receipt serves.
  static let lifetime: Duration = .seconds(60)

  private let clock: any MonotonicClock
  private var kept: (proof: Proof, until: MonotonicInstant)?
  private var isFetching = false
  /// Counts the removals: a receipt that was asked for before one is not kept after it.
  private var removals = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(clock: any MonotonicClock) {
    self.clock = clock
  }

  /// The kept receipt, or what `fetch` brings; `isKept` tells that this call fetched nothing.
  func receipt(
    _ fetch: () async throws(APICallError) -> Proof
  ) async throws(APICallError) -> (proof: Proof, isKept: Bool) {
    while true {
      if let kept, clock.now() < kept.until { return (kept.proof, true) }
      guard isFetching else { break }
      // Where the one that fetches fails, one of those that wait is next.
      await withCheckedContinuation { waiting.append($0) }
    }
    isFetching = true
    let removals = removals
    defer {
      isFetching = false
      for continuation in waiting { continuation.resume() }
      waiting = []
    }
    let proof = try await fetch()
    if removals == self.removals { kept = (proof, clock.now() + Self.lifetime) }
    return (proof, false)
  }

  /// The next question needs a fresh one.
  func remove() {
    kept = nil
    removals += 1
  }
}

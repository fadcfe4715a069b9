package import CoreTypes
import Synchronization

/// Shows whether a loop still turns: the loop says when a turn begins and ends, and ``isProven(since:)`` compares. A turn that
/// lasts longer than `longestTurn` proves nothing, and a loop that has ended never turns again.
package final class LoopPulse: Sendable {
  private struct State {
    var turns = 0
    /// Nil between two turns.
    var workingSince: MonotonicInstant?
  }

  private let state = Mutex(State())
  private let clock: any MonotonicClock
  private let longestTurn: Duration

  package init(clock: any MonotonicClock, longestTurn: Duration) {
    self.clock = clock
    self.longestTurn = longestTurn
  }

  /// Turns that have begun.
  var turns: Int { state.locked { $0.turns } }

  /// Within a turn it may be called again: the time of the turn counts anew.
  package func turnBegan() {
    let now = clock.now()
    state.locked { state in
      state.turns += 1
      state.workingSince = now
    }
  }

  package func turnEnded() {
    state.locked { $0.workingSince = nil }
  }

  /// Whether a turn has begun since there were `turns` of them, or one is at work and may be.
  func isProven(since turns: Int) -> Bool {
    let now = clock.now()
    return state.locked { state in
      guard let since = state.workingSince else { return state.turns > turns }
      return now - since < longestTurn
    }
  }

  /// Wakes the loop by `wake` and returns once it is proven to turn; not before its task is cancelled where it does not.
  package func prove(wake: @Sendable () -> Void) async {
    let before = turns
    wake()
    while !isProven(since: before) {
      do {
        try await clock.sleep(for: .milliseconds(50))
      } catch {
        return
      }
    }
  }
}

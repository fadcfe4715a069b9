public import CoreTypes
internal import Synchronization

/// A monotonic clock that stands still until a test moves it. A test first awaits ``waitForSleepers(_:)``, so that it knows
/// the code under test sleeps, and then calls ``advance(by:)``.
public final class ManualMonotonicClock: MonotonicClock {
  /// A task that sleeps.
  private struct Sleeper {
    /// The number by which a cancellation finds it.
    let identifier: UInt64
    /// The instant at which it wakes.
    let end: MonotonicInstant
    /// Resumed once: at that instant, or with `CancellationError`.
    let continuation: CheckedContinuation<Void, any Error>
  }

  /// A test that waits for tasks to sleep.
  private struct Watcher {
    /// The number of sleepers that it waits for.
    let count: Int
    /// Resumed once as many sleep.
    let continuation: CheckedContinuation<Void, Never>
  }

  /// The sleepers and the tests that watch them.
  private struct State {
    /// The instant that the clock shows.
    var now: MonotonicInstant
    /// The number of the last sleeper; numbers are never used again.
    var nextIdentifier: UInt64 = 0
    /// The tasks that sleep, in no order.
    var sleepers: [Sleeper] = []
    /// Cancelled before they slept.
    var cancelled: Set<UInt64> = []
    /// The tests that wait for more sleepers than there are.
    var watchers: [Watcher] = []

    /// Takes out the watchers whose number of sleepers is reached. They are to be resumed without the lock.
    mutating func removeSatisfiedWatchers() -> [Watcher] {
      let satisfied = watchers.filter { $0.count <= sleepers.count }
      watchers.removeAll { $0.count <= sleepers.count }
      return satisfied
    }
  }

  /// Guards the clock; nothing is resumed while it is held.
  private let state: Mutex<State>

  /// Starts at 1 s unless given.
  public init(_ now: MonotonicInstant = MonotonicInstant(nanoseconds: 1_000_000_000)) {
    state = Mutex(State(now: now))
  }

  /// The instant that the test has moved the clock to.
  public func now() -> MonotonicInstant { state.withLock { $0.now } }

  /// Returns when the test has moved the clock that far; throws `CancellationError` when the task is cancelled.
  public func sleep(for duration: Duration) async throws {
    let (identifier, end) = state.withLock { state in
      state.nextIdentifier += 1
      return (state.nextIdentifier, state.now + duration)
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        add(Sleeper(identifier: identifier, end: end, continuation: continuation))
      }
    } onCancel: {
      cancel(identifier)
    }
  }

  /// Moves the clock and wakes the tasks that have slept long enough, the earliest first.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now + duration
      let now = state.now
      let due = state.sleepers.filter { $0.end <= now }.sorted { $0.end < $1.end }
      state.sleepers.removeAll { $0.end <= now }
      return due
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Returns once at least `count` sleep at the same time.
  public func waitForSleepers(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isSatisfied = state.withLock { state in
        if state.sleepers.count >= count { return true }
        state.watchers.append(Watcher(count: count, continuation: continuation))
        return false
      }
      if isSatisfied { continuation.resume() }
    }
  }

  /// How long until the next sleeper wakes; nil without sleepers.
  public var timeToNextSleeper: Duration? {
    state.withLock { state in state.sleepers.map(\.end).min().map { $0 - state.now } }
  }

  /// How many sleep now.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// The result of an attempt to sleep.
  private enum Outcome {
    /// The task sleeps; these watchers have seen enough.
    case sleeping([Watcher])
    /// The instant has passed already.
    case due
    /// The task was cancelled before it slept.
    case cancelled
  }

  /// Lets a task sleep, or resumes it at once where its instant has passed or it was cancelled before.
  private func add(_ sleeper: Sleeper) {
    let outcome: Outcome = state.withLock { state in
      if state.cancelled.remove(sleeper.identifier) != nil { return .cancelled }
      if sleeper.end <= state.now { return .due }
      state.sleepers.append(sleeper)
      return .sleeping(state.removeSatisfiedWatchers())
    }
    switch outcome {
    case .sleeping(let watchers): for watcher in watchers { watcher.continuation.resume() }
    case .due: sleeper.continuation.resume()
    case .cancelled: sleeper.continuation.resume(throwing: CancellationError())
    }
  }

  /// Wakes the sleeper with `CancellationError`. One that does not sleep yet is remembered, and wakes as soon as it is
  /// added.
  private func cancel(_ identifier: UInt64) {
    let sleeper = state.withLock { state -> Sleeper? in
      guard let index = state.sleepers.firstIndex(where: { $0.identifier == identifier }) else {
        state.cancelled.insert(identifier)
        return nil
      }
      return state.sleepers.remove(at: index)
    }
    sleeper?.continuation.resume(throwing: CancellationError())
  }
}

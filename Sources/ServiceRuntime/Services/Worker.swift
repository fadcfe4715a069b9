public import CoreTypes
internal import Synchronization

/// The loop of work that goes on in the background: batch after batch until nothing is left, then a pause on
/// the monotonic clock that a wake ends, and longer and longer pauses while the work fails.
///
///     let worker = Worker(clock: SystemMonotonicClock())
///     await worker.run {
///       let count = try await sendBatch()
///       return count == batchSize ? .again : .pause(atMost: .seconds(60))
///     } onFailure: { error in
///       log.error("the queue cannot work", ["error": LogValue(error)])
///     }
///
/// What adds work calls ``wake()``. One task runs a worker at a time.
public final class Worker: Sendable {
  /// The step after a pass.
  public enum Next: Hashable, Sendable {
    /// Another pass at once: there may be more to do.
    case again
    /// Another pass after that time, or at a wake.
    case pause(atMost: Duration)
    /// Another pass at a wake and not before.
    case waitForWake
  }

  /// The activity of the task that runs the worker.
  public enum Standing: Hashable, Sendable {
    /// A pass, or it has not begun to wait, or goes on in a moment.
    case working
    /// It waits for a wake, and for a time to pass.
    case pausing
    /// It waits for a wake.
    case waiting
  }

  /// The clock of pauses.
  private let clock: any MonotonicClock
  /// The pauses after passes that threw.
  private let backoff: Backoff
  /// Raised by each wake.
  private let signal = AsyncSignal()
  /// The kind of rest that the worker takes, while it waits.
  private let wait = Mutex(Standing.working)

  /// `backoff` says how long to pause after passes in a row that threw.
  public init(clock: any MonotonicClock, backoff: Backoff = Backoff(cap: .seconds(60))) {
    self.clock = clock
    self.backoff = backoff
  }

  /// Ends the pause; during a pass, there will be another one at once. Wakes that come before the next pass
  /// count as one.
  public func wake() {
    signal.signal()
  }

  /// The current activity, for tests that move the worker's clock once nothing works any more.
  public var standing: Standing { signal.isAwaited ? wait.locked { $0 } : .working }

  /// Runs `pass`, for the first time at once, until the task is cancelled. What a pass throws goes to
  /// `onFailure`, unless the task was cancelled meanwhile; the next pass comes after a backoff, or at a wake.
  public func run(
    _ pass: @Sendable () async throws -> Next, onFailure: @Sendable (any Error) -> Void
  ) async {
    var failures = 0
    while !Task.isCancelled {
      let pause: Duration?
      do {
        let next = try await pass()
        failures = 0
        switch next {
        case .again: continue
        case .pause(let duration): pause = duration
        case .waitForWake: pause = nil
        }
      } catch {
        if Task.isCancelled { return }
        failures += 1
        onFailure(error)
        pause = backoff.delay(afterFailures: failures)
      }
      await rest(atMost: pause)
    }
  }

  /// Waits for a wake, and at most for that time; without an end for nil.
  private func rest(atMost pause: Duration?) async {
    wait.locked { $0 = pause == nil ? .waiting : .pausing }
    await signal.wait(atMost: pause, clock: clock)
    wait.locked { $0 = .working }
  }

  /// Runs `pass` again and again, `interval` after the start and after the end of each pass, until the task
  /// is cancelled. A wake ends that pause as well; failures are as for ``run(_:onFailure:)``.
  public func run(
    every interval: Duration, _ pass: @Sendable () async throws -> Void,
    onFailure: @Sendable (any Error) -> Void
  ) async {
    await rest(atMost: interval)
    await run(
      {
        try await pass()
        return .pause(atMost: interval)
      }, onFailure: onFailure)
  }
}

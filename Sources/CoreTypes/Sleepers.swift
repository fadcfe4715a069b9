internal import CLinux
internal import Synchronization

/// The tasks that sleep, woken by one thread that sleeps until the first of them is due. `Task.sleep` would do, but for the threads of
/// libdispatch that it starts: they wake up every second to count themselves.
final class Sleepers: Sendable {
  /// Nil where the system has no timer to give.
  static let shared: Sleepers? = {
    let timer = clinux_start_alarm { Sleepers.shared?.wakeDue() }
    return timer == -1 ? nil : Sleepers(timer: timer)
  }()

  private struct State {
    /// The one that is due last comes first.
    var sleeps: [Sleep] = []
    var count: UInt64 = 0
  }

  private let timer: Int32
  private let state = Mutex(State())

  private init(timer: Int32) {
    self.timer = timer
  }

  /// Returns at `end`, or throws `CancellationError` as soon as the task is cancelled.
  func sleep(until end: MonotonicInstant) async throws {
    try Task.checkCancellation()
    let sleep = add(until: end)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { sleep.wait($0) }
    } onCancel: {
      remove(sleep)
      sleep.end(.failure(CancellationError()))
    }
  }

  private func add(until end: MonotonicInstant) -> Sleep {
    state.locked { state in
      state.count += 1
      let sleep = Sleep(until: end, number: state.count)
      state.sleeps.insert(sleep, at: position(of: sleep, in: state.sleeps))
      // Set under the lock, so that an earlier one cannot be replaced by this.
      if state.sleeps.last === sleep { clinux_set_alarm(timer, Int64(clamping: end.nanoseconds)) }
      return sleep
    }
  }

  private func remove(_ sleep: Sleep) {
    state.locked { state in
      let index = position(of: sleep, in: state.sleeps)
      if index < state.sleeps.count, state.sleeps[index] === sleep { state.sleeps.remove(at: index) }
    }
  }

  private func wakeDue() {
    let now = SystemMonotonicClock().now()
    let due = state.locked { state in
      var due: [Sleep] = []
      while let last = state.sleeps.last, last.end <= now { due.append(state.sleeps.removeLast()) }
      if let next = state.sleeps.last { clinux_set_alarm(timer, Int64(clamping: next.end.nanoseconds)) }
      return due
    }
    for sleep in due { sleep.end(.success(())) }
  }

  /// Where it is, or belongs.
  private func position(of sleep: Sleep, in sleeps: [Sleep]) -> Int {
    var (low, high) = (0, sleeps.count)
    while low < high {
      let middle = (low + high) / 2
      if sleeps[middle].isAfter(sleep) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// One task's sleep: it ends once, for whichever reason comes first.
private final class Sleep: Sendable {
  private typealias Waiter = CheckedContinuation<Void, any Error>

  private enum State {
    case begun
    case waiting(Waiter)
    case over(Result<Void, any Error>)
  }

  let end: MonotonicInstant
  private let number: UInt64
  private let state = Mutex(State.begun)

  init(until end: MonotonicInstant, number: UInt64) {
    self.end = end
    self.number = number
  }

  /// Whether it is woken later; of two at the same time, the one that began later.
  func isAfter(_ other: Sleep) -> Bool { (end, number) > (other.end, other.number) }

  func wait(_ waiter: CheckedContinuation<Void, any Error>) {
    let result = state.locked { state -> Result<Void, any Error>? in
      if case .over(let result) = state { return result }
      state = .waiting(waiter)
      return nil
    }
    if let result { waiter.resume(with: result) }
  }

  func end(_ result: Result<Void, any Error>) {
    let waiter = state.locked { state -> Waiter? in
      switch state {
      case .begun:
        state = .over(result)
        return nil
      case .waiting(let waiter):
        state = .over(result)
        return waiter
      case .over:
        return nil
      }
    }
    waiter?.resume(with: result)
  }
}

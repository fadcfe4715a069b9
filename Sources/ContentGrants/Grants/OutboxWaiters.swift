import CoreTypes

/// The requests that wait for calls of the outbox, each until its deadline. All wait for the same time, so that
/// they give up in the order in which they came. Each continuation that is taken out is the caller's to resume,
/// once and outside of the lock.
struct OutboxWaiters {
  /// Resumed with true when the store has accepted the call.
  typealias Continuation = CheckedContinuation<Bool, Never>

  private struct Waiter {
    var call: Int64
    var deadline: MonotonicInstant
    var continuation: Continuation
  }

  private var waiters: [UInt64: Waiter] = [:]
  private var numbers: [Int64: [UInt64]] = [:]
  /// Every waiter has a number from here up to ``next``.
  private var oldest: UInt64 = 0
  private var next: UInt64 = 0
  /// ``removeExpired(at:)`` will be called at the deadline of the oldest, or before.
  private var isWatched = false

  /// Answers whether ``removeExpired(at:)`` has to be called to learn the next deadline.
  mutating func add(
    _ continuation: Continuation, for call: Int64, until deadline: MonotonicInstant
  ) -> Bool {
    defer { isWatched = true }
    waiters[next] = Waiter(call: call, deadline: deadline, continuation: continuation)
    numbers[call, default: []].append(next)
    next += 1
    return !isWatched
  }

  /// Takes out those who wait for the call.
  mutating func remove(for call: Int64) -> [Continuation] {
    (numbers.removeValue(forKey: call) ?? []).compactMap { waiters.removeValue(forKey: $0)?.continuation }
  }

  /// Takes out everyone who waits, in no order.
  mutating func removeAll() -> [Continuation] {
    defer { self = OutboxWaiters() }
    return waiters.values.map(\.continuation)
  }

  /// Takes out those whose deadline has come; answers the next deadline, nil when none waits.
  mutating func removeExpired(at now: MonotonicInstant) -> (
    expired: [Continuation], next: MonotonicInstant?
  ) {
    var expired: [Continuation] = []
    while oldest < next {
      if let waiter = waiters[oldest] {
        guard waiter.deadline <= now else { return (expired, waiter.deadline) }
        waiters[oldest] = nil
        numbers[waiter.call]?.removeAll { $0 == oldest }
        expired.append(waiter.continuation)
      }
      oldest += 1
    }
    isWatched = false
    return (expired, nil)
  }
}

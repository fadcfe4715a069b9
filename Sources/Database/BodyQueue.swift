internal import CoreTypes
internal import Dispatch
internal import Synchronization
internal import SystemCalls

/// A body on its way: in a ``BodyQueue``, then on a thread, until it is answered.
// Sendable because one at a time has it: the queue, behind its lock, and then the thread that took it out.
class QueuedBody: @unchecked Sendable {
  let locks: [DatabaseLock]
  /// When it is refused unless a thread has taken it.
  let deadline: ContinuousClock.Instant?
  /// When it began to wait.
  let begun: ContinuousClock.Instant

  init(locks: [DatabaseLock], waitingAtMost wait: Duration?) {
    self.locks = locks
    begun = .now
    deadline = wait.map { [begun] in begun + $0 }
  }

  /// Runs it and keeps what it came to. Answers what it threw.
  func run(on connection: borrowing Connection) -> (any Error)? { nil }

  /// Does what is to follow from its value.
  func applyEffect() {}

  /// Tells the caller what the last run came to, or that it failed with `error`.
  func answer(_ error: (any Error)? = nil) {}
}

/// A body with the caller that waits for its value.
final class CalledBody<Value: Sendable>: QueuedBody, @unchecked Sendable {
  typealias Work = @Sendable (borrowing Connection) throws -> Value

  private enum Caller {
    case task(CheckedContinuation<Value, any Error>)
    case thread(DispatchSemaphore)
  }

  private let work: Work
  private let effect: (@Sendable (Value) -> Void)?
  private var caller: Caller?
  private var result: Result<Value, any Error>?

  init(
    locks: [DatabaseLock] = [], waitingAtMost wait: Duration?,
    then effect: (@Sendable (Value) -> Void)? = nil,
    _ work: @escaping Work
  ) {
    self.work = work
    self.effect = effect
    super.init(locks: locks, waitingAtMost: wait)
  }

  /// Its value. A task that is cancelled while its body waits takes it back and throws `CancellationError`; one
  /// that was cancelled before is served all the same.
  func value(from queue: BodyQueue) async throws -> Value {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        caller = .task(continuation)
        queue.append(self)
      }
    } onCancel: {
      if queue.remove(self) { answer(CancellationError()) }
    }
  }

  /// Its value; blocks the caller.
  func valueBlocking(from queue: BodyQueue) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    caller = .thread(done)
    queue.append(self)
    done.wait()
    guard let result else { preconditionFailure("a body was answered without a result") }
    return try result.get()
  }

  override func run(on connection: borrowing Connection) -> (any Error)? {
    do {
      result = .success(try work(connection))
      return nil
    } catch {
      result = .failure(error)
      return error
    }
  }

  override func applyEffect() {
    if let effect, case .success(let value) = result { effect(value) }
  }

  override func answer(_ error: (any Error)?) {
    if let error { result = .failure(error) }
    guard let result else { preconditionFailure("a body that never ran has no answer") }
    switch caller {
    case .task(let continuation): continuation.resume(with: result)
    case .thread(let done): done.signal()
    case nil: preconditionFailure("a body was queued without a caller")
    }
    caller = nil
  }
}

/// The bodies that wait for a thread, in their order. At most so many wait; one that waits beyond its deadline is
/// refused, whether or not a thread is free by then.
final class BodyQueue: Sendable {
  private struct State {
    /// From `first` on; what lies before was taken.
    var bodies: [QueuedBody?] = []
    var first = 0
    /// Threads that wait for a signal that is not on its way yet.
    var idle = 0
    var isClosed = false
    /// A look for deadlines that have passed is to come.
    var isSweepDue = false

    var count: Int { bodies.count - first }
  }

  private let state = Mutex(State())
  private let waits = Mutex(DurationHistogram())
  private let work = DispatchSemaphore(value: 0)
  private let limit: Int

  init(limit: Int) {
    self.limit = limit
  }

  /// How many wait.
  var count: Int { state.withLock { $0.count } }

  /// How many wait, and how long those waited that do so no longer.
  var statistics: DatabaseStatistics.Queue { .init(waiting: count, waits: waits.withLock { $0 }) }

  /// Answers the body at once where it cannot wait: `overloaded`, `closed`.
  func append(_ body: QueuedBody) {
    var sweep: ContinuousClock.Instant?
    var wakesThread = false
    let refusal = state.withLock { state -> DatabaseError? in
      if state.isClosed { return DatabaseError(.closed, "the database is closed") }
      if state.count >= limit { return DatabaseError(.overloaded, "\(limit) bodies wait already") }
      state.bodies.append(body)
      if state.idle > 0 {
        state.idle -= 1
        wakesThread = true
      }
      if let deadline = body.deadline, !state.isSweepDue {
        state.isSweepDue = true
        sweep = deadline
      }
      return nil
    }
    // Not under the lock: the thread that wakes takes it at once, and would spin for it.
    if wakesThread { work.signal() }
    if let refusal { body.answer(refusal) }
    if let sweep { self.sweep(at: sweep) }
  }

  /// The next body; waits for one. Nil when the queue is closed and empty.
  func take() -> QueuedBody? {
    while true {
      switch state.withLock({ Self.nextOrWait(&$0) }) {
      case .body(let body): if !refuseLate(body) { return body }
      case .wait: work.wait()
      case .end: return nil
      }
    }
  }

  private enum Turn {
    case body(QueuedBody)
    case wait
    case end
  }

  private static func nextOrWait(_ state: inout State) -> Turn {
    if let body = next(&state) { return .body(body) }
    if state.isClosed { return .end }
    state.idle += 1
    return .wait
  }

  /// The next body, if one waits.
  func takeIfWaiting() -> QueuedBody? {
    while let body = state.withLock({ Self.next(&$0) }) {
      if !refuseLate(body) { return body }
    }
    return nil
  }

  /// Whether it was still waiting; then the caller answers it.
  func remove(_ body: QueuedBody) -> Bool {
    state.withLock { state in
      guard let index = state.bodies[state.first...].firstIndex(where: { $0 === body }) else {
        return false
      }
      state.bodies.remove(at: index)
      return true
    }
  }

  /// No body is taken in any more; those that wait are served.
  func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = 0 }
      return state.idle
    }
    for _ in 0..<idle { work.signal() }
  }

  private static func next(_ state: inout State) -> QueuedBody? {
    guard state.first < state.bodies.count else { return nil }
    let body = state.bodies[state.first]
    state.bodies[state.first] = nil
    state.first += 1
    if state.first == state.bodies.count {
      state.bodies.removeAll(keepingCapacity: true)
      state.first = 0
    } else if state.first > 64, state.first * 2 > state.bodies.count {
      state.bodies.removeFirst(state.first)
      state.first = 0
    }
    return body
  }

  private func refuseLate(_ body: QueuedBody) -> Bool {
    let now = ContinuousClock.now
    waits.withLock { $0.add(now - body.begun) }
    guard let deadline = body.deadline, deadline < now else { return false }
    Self.refuse(body)
    return true
  }

  private static func refuse(_ body: QueuedBody) {
    body.answer(DatabaseError(.overloaded, "the database did not come to it in time"))
  }

  /// Looks once for what waits too long, and again as long as anything with a deadline waits.
  private func sweep(at time: ContinuousClock.Instant) {
    let pause = max(time - ContinuousClock.now, Duration.milliseconds(1)).components
    let nanoseconds = Int(
      clamping: pause.seconds * 1_000_000_000 + pause.attoseconds / 1_000_000_000)
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in
      self?.sweep()
    }
  }

  private func sweep() {
    let now = ContinuousClock.now
    let (late, next) = state.withLock { state in
      var late: [QueuedBody] = []
      var next: ContinuousClock.Instant?
      state.bodies.removeAll { body in
        guard let body, let deadline = body.deadline else { return false }
        if deadline <= now {
          late.append(body)
          return true
        }
        next = min(next ?? deadline, deadline)
        return false
      }
      state.isSweepDue = next != nil
      return (late, next)
    }
    for body in late {
      waits.withLock { $0.add(now - body.begun) }
      Self.refuse(body)
    }
    if let next { sweep(at: next) }
  }
}

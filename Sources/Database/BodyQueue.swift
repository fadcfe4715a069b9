internal import CoreTypes
internal import Dispatch
internal import Synchronization
internal import SystemCalls

/// A body on its way: in a ``BodyQueue``, then on a thread, until it is answered.
// Sendable because one at a time has it: the queue, behind its lock, and then the thread that took it out.
package class QueuedBody: @unchecked Sendable {
  package let locks: [DatabaseLock]
  /// When it is refused unless a thread has taken it.
  package let deadline: ContinuousClock.Instant?
  /// When it began to wait.
  package let begun: ContinuousClock.Instant
  /// Whether it waits for others first (``BodyQueue/gathering``).
  let joinsOthers: Bool
  /// Whether it shares no transaction.
  let isAlone: Bool

  init(locks: [DatabaseLock], waitingAtMost wait: Duration?, joinsOthers: Bool, isAlone: Bool = false) {
    self.locks = locks
    self.joinsOthers = joinsOthers
    self.isAlone = isAlone
    begun = .now
    deadline = wait.map { [begun] in begun + $0 }
  }

  /// Runs it and keeps what it came to. Answers what it threw.
  package func run(on connection: borrowing Connection) -> (any Error)? { nil }

  /// Does what is to follow from its value.
  package func applyEffect() {}

  /// Tells the caller what the last run came to, or that it failed with `error`.
  package func answer(_ error: (any Error)? = nil) {}
}

/// A body with the caller that waits for its end. What it came to is in a ``BodyValue``: so nothing here depends on its type, and
/// the compiler makes one version of it rather than looking each up at run time.
package final class CalledBody: QueuedBody, @unchecked Sendable {
  private enum Caller {
    case task(CheckedContinuation<Void, any Error>)
    case thread(DispatchSemaphore)
  }

  private let work: @Sendable (borrowing Connection) throws -> Void
  private let effect: (@Sendable () -> Void)?
  private var caller: Caller?
  private var error: (any Error)?

  package init(
    locks: [DatabaseLock] = [], waitingAtMost wait: Duration?, joinsOthers: Bool = false,
    isAlone: Bool = false, then effect: (@Sendable () -> Void)? = nil,
    _ work: @escaping @Sendable (borrowing Connection) throws -> Void
  ) {
    self.work = work
    self.effect = effect
    super.init(locks: locks, waitingAtMost: wait, joinsOthers: joinsOthers, isAlone: isAlone)
  }

  /// Returns once it has run. A task that is cancelled while its body waits takes it back and throws
  /// `CancellationError`; one that was cancelled before is served all the same.
  package func end(in queue: BodyQueue) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        caller = .task(continuation)
        queue.append(self)
      }
    } onCancel: {
      if queue.remove(self) { answer(CancellationError()) }
    }
  }

  /// Does the same and blocks the caller.
  func endBlocking(in queue: BodyQueue) throws {
    let done = DispatchSemaphore(value: 0)
    caller = .thread(done)
    queue.append(self)
    done.wait()
    if let error { throw error }
  }

  package override func run(on connection: borrowing Connection) -> (any Error)? {
    do {
      error = nil
      try work(connection)
    } catch {
      self.error = error
    }
    return error
  }

  package override func applyEffect() {
    if error == nil { effect?() }
  }

  package override func answer(_ error: (any Error)?) {
    if let error { self.error = error }
    switch caller {
    case .task(let continuation):
      if let error = self.error { continuation.resume(throwing: error) } else { continuation.resume() }
    case .thread(let done): done.signal()
    case nil: preconditionFailure("a body was queued without a caller")
    }
    caller = nil
  }
}

/// The value of a body's last run.
// Sendable because one at a time has it: the thread that runs the body, and its caller after the end.
final class BodyValue<Value: Sendable>: @unchecked Sendable {
  private var value: Value?

  func set(_ value: Value) { self.value = value }

  /// Returns the value of a body that has run without an error.
  func get() -> Value {
    guard let value else { preconditionFailure("a body that never ran has no value") }
    return value
  }
}

/// The bodies that wait for a thread, in their order. At most so many wait; one that waits beyond its deadline is
/// refused, whether or not a thread is free by then. Bodies that join others are handed out with the next one that does
/// not, and after ``gathering`` by themselves.
package final class BodyQueue: Sendable {
  private struct State {
    /// From `first` on; what lies before was taken.
    var bodies: [QueuedBody?] = []
    var first = 0
    /// How many of them join others.
    var joining = 0
    /// When those that join others wait no longer; of use while there are any.
    var joinsUntil = ContinuousClock.Instant.now
    /// Threads that wait for a signal that is not on its way yet.
    var idle = 0
    /// Whether one of these waits until ``joinsUntil`` only, and for a body that joins no others.
    var isGathering = false
    var isClosed = false
    /// A look for deadlines that have passed is to come.
    var isSweepDue = false

    var count: Int { bodies.count - first }

    var isNextAlone: Bool { first < bodies.count && bodies[first]?.isAlone == true }

    mutating func append(_ body: QueuedBody, gathering: Duration) {
      bodies.append(body)
      guard body.joinsOthers else { return }
      if joining == 0 { joinsUntil = body.begun + gathering }
      joining += 1
    }

    mutating func didRemove(_ body: QueuedBody) {
      if body.joinsOthers { joining -= 1 }
    }

    /// Takes a thread out of those that wait, where there is one that the body is for; then it is to be woken.
    mutating func wakesThread(for body: QueuedBody) -> Bool {
      guard idle > 0, !(isGathering && body.joinsOthers) else { return false }
      idle -= 1
      isGathering = false
      return true
    }
  }

  private let state = Mutex(State())
  private let waits = Mutex(DurationHistogram())
  private let work = DispatchSemaphore(value: 0)
  private let limit: Int
  /// How long a body that joins others waits for them, at most.
  private let gathering: Duration

  /// Bodies that join others are for queues with one thread.
  package init(limit: Int, gathering: Duration = .zero) {
    self.limit = limit
    self.gathering = gathering
  }

  /// How many wait.
  package var count: Int { state.locked { $0.count } }

  /// How many wait, and how long those waited that do so no longer.
  package var statistics: DatabaseStatistics.Queue { .init(waiting: count, waits: waits.locked { $0 }) }

  /// Answers the body at once where it cannot wait: `overloaded`, `closed`.
  func append(_ body: QueuedBody) {
    var sweep: ContinuousClock.Instant?
    var wakesThread = false
    let refusal = state.locked { state -> DatabaseError? in
      if state.isClosed { return DatabaseError(.closed, "the database is closed") }
      if state.count >= limit { return DatabaseError(.overloaded, "\(limit) bodies wait already") }
      state.append(body, gathering: gathering)
      wakesThread = state.wakesThread(for: body)
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
  package func take() -> QueuedBody? {
    while true {
      switch state.locked({ Self.nextOrWait(&$0) }) {
      case .body(let body): if !refuseLate(body) { return body }
      case .wait: work.wait()
      case .gather(let end): gather(until: end)
      case .end: return nil
      }
    }
  }

  /// Waits for a body that joins no others, or until `end`.
  private func gather(until end: ContinuousClock.Instant) {
    guard work.wait(timeout: .now() + .nanoseconds(Self.nanoseconds(until: end))) == .timedOut else { return }
    let isSignalled = state.locked { state in
      guard state.isGathering else { return true }
      state.isGathering = false
      state.idle -= 1
      return false
    }
    // It came at the same moment.
    if isSignalled { work.wait() }
  }

  private enum Turn {
    case body(QueuedBody)
    case wait
    case gather(until: ContinuousClock.Instant)
    case end
  }

  private static func nextOrWait(_ state: inout State) -> Turn {
    if state.joining > 0, state.joining == state.count, !state.isClosed, .now < state.joinsUntil {
      state.idle += 1
      state.isGathering = true
      return .gather(until: state.joinsUntil)
    }
    if let body = next(&state) { return .body(body) }
    if state.isClosed { return .end }
    state.idle += 1
    return .wait
  }

  /// The next body, if one waits that shares its transaction.
  func takeIfWaiting() -> QueuedBody? {
    while let body = state.locked({ $0.isNextAlone ? nil : Self.next(&$0) }) {
      if !refuseLate(body) { return body }
    }
    return nil
  }

  /// Whether it was still waiting; then the caller answers it.
  func remove(_ body: QueuedBody) -> Bool {
    state.locked { state in
      guard let index = state.bodies[state.first...].firstIndex(where: { $0 === body }) else {
        return false
      }
      state.bodies.remove(at: index)
      state.didRemove(body)
      return true
    }
  }

  /// No body is taken in any more; those that wait are served.
  package func close() {
    let idle = state.locked { state in
      state.isClosed = true
      defer { (state.idle, state.isGathering) = (0, false) }
      return state.idle
    }
    for _ in 0..<idle { work.signal() }
  }

  private static func next(_ state: inout State) -> QueuedBody? {
    guard state.first < state.bodies.count else { return nil }
    let body = state.bodies[state.first]
    if let body { state.didRemove(body) }
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
    waits.locked { $0.add(now - body.begun) }
    guard let deadline = body.deadline, deadline < now else { return false }
    Self.refuse(body)
    return true
  }

  private static func refuse(_ body: QueuedBody) {
    body.answer(DatabaseError(.overloaded, "the database did not come to it in time"))
  }

  /// Looks once for what waits too long, and again as long as anything with a deadline waits.
  private func sweep(at time: ContinuousClock.Instant) {
    let nanoseconds = max(Self.nanoseconds(until: time), 1_000_000)
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in
      self?.sweep()
    }
  }

  private static func nanoseconds(until time: ContinuousClock.Instant) -> Int {
    let pause = max(time - ContinuousClock.now, .zero).components
    return Int(clamping: pause.seconds * 1_000_000_000 + pause.attoseconds / 1_000_000_000)
  }

  private func sweep() {
    let now = ContinuousClock.now
    let (late, next) = state.locked { state in
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
      for body in late { state.didRemove(body) }
      state.isSweepDue = next != nil
      return (late, next)
    }
    for body in late {
      waits.locked { $0.add(now - body.begun) }
      Self.refuse(body)
    }
    if let next { sweep(at: next) }
  }
}

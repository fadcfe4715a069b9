internal import Synchronization

/// The tasks of an ``AsyncHandler``: one for each request, begun on the loop that has read its head.
///
/// They are no children of a task that passes requests on to them: for each request that would be two more tasks to make
/// and three more hand-overs between threads. So each exchange cancels its own task, and ``end()`` waits for all of them.
final class RequestTasks: Sendable {
  private struct State {
    var running = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let handler: any AsyncHandler
  private let state = Mutex(State())
  private let waiting = Atomic<Int>(0)

  /// Tasks that were begun and have no thread yet.
  var waitingCount: Int { waiting.load(ordering: .relaxed) }

  init(_ handler: any AsyncHandler) {
    self.handler = handler
  }

  func begin(_ pending: PendingRequest) {
    state.withLock { $0.running += 1 }
    waiting.add(1, ordering: .relaxed)
    // At the priority of a program's first task: others would run on threads of their own.
    let task = Task(priority: .userInitiated) { [self] in
      waiting.subtract(1, ordering: .relaxed)
      await pending.exchange.run(pending.request) { await handler.respond(to: $0) }
      didEnd()
    }
    pending.exchange.belongs(to: task)
  }

  /// Returns when no task runs any more; none may begin meanwhile.
  func end() async {
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if state.running > 0 { state.waiters.append(continuation) }
        return state.running == 0
      }
      if hasEnded { continuation.resume() }
    }
  }

  private func didEnd() {
    let waiters = state.withLock { state in
      state.running -= 1
      guard state.running == 0 else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}

import CoreTypes
internal import Synchronization

/// Where requests go that no inline handler answers. A test has one that answers step by step.
protocol RequestRunner: Sendable {
  /// Begun and without a thread yet.
  var waitingCount: Int { get }
  /// Begun and not ended.
  var runningCount: Int { get }

  /// Has the request answered through its exchange, on whatever thread.
  func begin(_ pending: PendingRequest)
}

/// The tasks of an ``AsyncHandler``: one for each request, begun on the loop that has read its head.
///
/// They are no children of a task that passes requests on to them: for each request that would be two more tasks to make
/// and three more hand-overs between threads. So each exchange cancels its own task, and ``end()`` waits for all of them.
final class RequestTasks: RequestRunner {
  private struct State {
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let handler: any AsyncHandler
  private let state = Mutex(State())
  private let waiting = Atomic<Int>(0)
  private let running = Atomic<Int>(0)

  /// Tasks that were begun and have not ended: a connection that is gone leaves its own to end by itself.
  var runningCount: Int { running.load(ordering: .relaxed) }

  /// Tasks that were begun and have no thread yet.
  var waitingCount: Int { waiting.load(ordering: .relaxed) }

  init(_ handler: any AsyncHandler) {
    self.handler = handler
  }

  func begin(_ pending: PendingRequest) {
    running.add(1, ordering: .relaxed)
    waiting.add(1, ordering: .relaxed)
    let run = pending.exchange.beginRun()
    // At the priority of a program's first task: others would run on threads of their own.
    let task = Task(priority: .userInitiated) { [self] in
      waiting.subtract(1, ordering: .relaxed)
      let postponement = await pending.exchange.run(pending.request) { await handler.respond(to: $0) }
      if let postponement {
        var pending = pending
        pending.request.postponement = postponement
        let next = pending
        postponement.begin { [self] in begin(next) }
      }
      didEnd()
    }
    pending.exchange.belongs(to: task, inRun: run)
  }

  /// Returns when no task runs any more; none may begin meanwhile.
  func end() async {
    await withCheckedContinuation { continuation in
      let hasEnded = state.locked { state in
        // Read once: it may become zero meanwhile, and who takes it there resumes the waiters behind this lock.
        let isRunning = runningCount > 0
        if isRunning { state.waiters.append(continuation) }
        return !isRunning
      }
      if hasEnded { continuation.resume() }
    }
  }

  private func didEnd() {
    guard running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    let waiters = state.locked { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}

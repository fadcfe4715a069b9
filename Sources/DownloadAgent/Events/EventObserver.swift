import PullboxAPI
import Synchronization

/// One reader of the event stream. Whoever publishes never waits for it.
final class EventObserver: Sendable {
  /// What to write next.
  enum Item: Sendable {
    case event(AgentEvent)
    /// A sign of life, so that a peer that is gone is noticed.
    case heartbeat
  }

  private struct State {
    var queue: ObserverQueue
    var heartbeatIsDue = false
    var waiting: CheckedContinuation<Void, Never>?
    var isClosed = false

    var hasItem: Bool { !queue.isEmpty || heartbeatIsDue || isClosed }
  }

  private let state: Mutex<State>

  init(_ snapshot: [AgentEvent]) {
    var queue = ObserverQueue()
    for event in snapshot { queue.append(event) }
    state = Mutex(State(queue: queue))
  }

  func post(_ event: AgentEvent) {
    change { $0.queue.append(event) }
  }

  func postHeartbeat() {
    change { $0.heartbeatIsDue = true }
  }

  /// The stream ends after what is queued.
  func close() {
    change { $0.isClosed = true }
  }

  /// The next item; nil at the end, or when the task is cancelled. One reader only.
  func next() async -> Item? {
    while true {
      let (item, isClosed) = state.withLock { state -> (Item?, Bool) in
        if let event = state.queue.takeFirst() { return (.event(event), false) }
        if state.isClosed { return (nil, true) }
        guard state.heartbeatIsDue else { return (nil, false) }
        state.heartbeatIsDue = false
        return (.heartbeat, false)
      }
      if let item { return item }
      if isClosed || Task.isCancelled { return nil }
      await waitForItem()
    }
  }

  private func waitForItem() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          if state.hasItem || Task.isCancelled { return true }
          state.waiting = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      change { _ in }
    }
  }

  private func change(_ body: (inout sending State) -> Void) {
    let waiting = state.withLock { state in
      body(&state)
      return state.waiting.take()
    }
    waiting?.resume()
  }
}

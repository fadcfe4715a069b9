import PullboxAPI
import Synchronization

/// Passes changes on to every observer. Knows the last word on everything that is not over, so that a new observer starts
/// from the whole truth and misses nothing after it.
final class EventHub: Sendable {
  private struct State {
    var latest: [ObserverQueue.Subject: AgentEvent] = [:]
    var observers: [ObjectIdentifier: EventObserver] = [:]
    var isClosed = false
  }

  /// Observers at one time; one more is refused.
  static let maximumObservers = 64

  private let state = Mutex(State())

  func publish(_ event: AgentEvent) {
    let subject = ObserverQueue.Subject(event)
    // Under one lock with the snapshot for new observers: nobody sees an older word after a newer one.
    state.withLock { state in
      state.latest[subject] = Self.isOver(event) ? nil : event
      for observer in state.observers.values { observer.post(event) }
    }
  }

  /// An observer that first gets every unfinished transaction and every live download; nil when there are too many.
  func subscribe() -> EventObserver? {
    state.withLock { state in
      guard state.observers.count < Self.maximumObservers, !state.isClosed else { return nil }
      let snapshot = state.latest.sorted { ($0.key.kind, $0.key.name) > ($1.key.kind, $1.key.name) }
      let observer = EventObserver(snapshot.map(\.value))
      state.observers[ObjectIdentifier(observer)] = observer
      return observer
    }
  }

  func unsubscribe(_ observer: EventObserver) {
    state.withLock { $0.observers[ObjectIdentifier(observer)] = nil }
  }

  /// Ends every stream after what is queued for it.
  func close() {
    let observers = state.withLock { state in
      state.isClosed = true
      return Array(state.observers.values)
    }
    for observer in observers { observer.close() }
  }

  private static func isOver(_ event: AgentEvent) -> Bool {
    switch event {
    case .transaction(let transaction):
      transaction.step == TransactionMachine.Step.finished.rawValue
        || transaction.step == TransactionMachine.Step.failed.rawValue
    case .download(let download): download.state.isFinal
    case .library: true
    }
  }
}

import Commerce
import PullboxAPI
import Synchronization

/// Publishes changes to every observer. It keeps the latest event of everything that is not over, so that a
/// new observer starts with the complete state and misses nothing after it.
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
    // Under one lock with the snapshot for new observers: no observer sees an older event after a newer one.
    state.withLock { state in
      state.latest[subject] = Self.isOver(event) ? nil : event
      for observer in state.observers.values { observer.post(event) }
    }
  }

  /// An observer that first gets every unfinished transaction and every live download; nil when there are too
  /// many.
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

/// One reader of the event stream. Publishing never waits for it.
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
        if let event = state.queue.popFirst() { return (.event(event), false) }
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

/// The events that an observer has not read yet, in order and bounded: a newer progress of a download
/// replaces the one that waits, and when an observer falls far behind, only the latest event of each subject
/// is kept.
struct ObserverQueue: Sendable {
  /// What an event is about.
  struct Subject: Hashable, Sendable {
    var kind: String
    var name: String
  }

  private struct Entry {
    var subject: Subject
    var event: AgentEvent
  }

  /// Above this many, older events of the same subject are dropped whatever they say.
  private let bound: Int
  private var entries: [Entry] = []

  init(bound: Int = 256) {
    self.bound = bound
  }

  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }

  mutating func append(_ event: AgentEvent) {
    let subject = Subject(event)
    if let index = entries.lastIndex(where: { $0.subject == subject }) {
      if Self.differsInProgressOnly(entries[index].event, event) {
        entries[index].event = event
        return
      }
      // The latest event moves to the end: it must not overtake events of other subjects.
      if entries.count >= bound { entries.removeAll { $0.subject == subject } }
    }
    entries.append(Entry(subject: subject, event: event))
  }

  mutating func popFirst() -> AgentEvent? {
    entries.isEmpty ? nil : entries.removeFirst().event
  }

  private static func differsInProgressOnly(_ left: AgentEvent, _ right: AgentEvent) -> Bool {
    guard case .download(let left) = left, case .download(let right) = right else { return false }
    return left.state == right.state && left.reason == right.reason
  }
}

extension ObserverQueue.Subject {
  init(_ event: AgentEvent) {
    switch event {
    case .transaction(let transaction): self.init(kind: event.name, name: transaction.id.description)
    case .download(let download): self.init(kind: event.name, name: download.id.description)
    case .library(let library):
      self.init(kind: event.name, name: "\(library.item.product) \(library.item.version)")
    }
  }
}

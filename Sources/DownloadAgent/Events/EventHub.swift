import AgentRecords
import CoreTypes
import Crypto
import PullboxAPI
import Synchronization

/// Publishes changes to every observer. It keeps the latest event of everything that is not over, so that a
/// new observer starts with the complete state and misses nothing after it.
final class EventHub: Sendable {
  /// `latest` has what is not over, by its subject.
  private struct State {
    /// The latest event of each subject that is not over.
    var latest: [ObserverQueue.Subject: AgentEvent] = [:]
    /// The observers with the users that they count for.
    var observers: [ObjectIdentifier: (observer: EventObserver, user: UInt32?)] = [:]
    /// Whether the hub takes no observer any more.
    var isClosed = false
    /// The number of the latest event.
    var number: UInt64 = 0
    /// The latest events, whose numbers end with ``number``.
    var kept: [AgentEvent] = []

    /// Counts the event, and keeps it for observers that come back.
    mutating func keep(_ event: AgentEvent) {
      number += 1
      kept.append(event)
      if kept.count >= 2 * EventHub.maximumKept { kept.removeFirst(kept.count - EventHub.maximumKept) }
    }

    /// The events behind that number; nil where not all of them are kept.
    func events(after known: UInt64) -> [AgentEvent]? {
      guard known <= number, number - known <= UInt64(kept.count) else { return nil }
      return kept.suffix(Int(number - known))
    }
  }

  /// Observers at one time; one more is refused.
  static let maximumObservers = 64
  /// Observers of one user at one time, so that one user leaves room for others.
  static let maximumObserversOfUser = 32

  /// Events that are kept at least for an observer that comes back.
  static let maximumKept = 1024

  /// Names this run of the agent in the identifiers of its events.
  private let run: String
  /// Guards the state; observers lock their own within it.
  private let state = Mutex(State())

  /// `run` is another at each start.
  init(run: String = RandomBytes.make(6).map { String($0, radix: 16) }.joined()) {
    self.run = run
  }

  /// The identifier of the event of that number, by which an observer that comes back says what it has read.
  func identifier(of number: UInt64) -> String { "\(run)-\(number)" }

  /// Never waits for an observer.
  func publish(_ event: AgentEvent) {
    let subject = ObserverQueue.Subject(event)
    // Under one lock with the snapshot for new observers: no observer sees an older event after a newer one.
    state.locked { state in
      state.latest[subject] = Self.isOver(event) ? nil : event
      state.keep(event)
      for entry in state.observers.values { entry.observer.post(event, number: state.number) }
    }
  }

  /// An observer that first gets every unfinished transaction and every live download; nil when there are too
  /// many, or too many of `user`. Without a user it counts among all alone.
  func subscribe(user: UInt32? = nil) -> EventObserver? {
    subscribe(user: user) { state in EventObserver(Self.snapshot(of: state)) }
  }

  /// The same for a stream, whose events have their identifiers. One that comes back with the identifier that it read last gets what came
  /// behind that, as long as all of it is kept; otherwise it is told to begin anew.
  func subscribe(user: UInt32?, after identifier: String?) -> EventObserver? {
    subscribe(user: user) { state in
      if let events = identifier.flatMap(number).flatMap(state.events) {
        let first = state.number - UInt64(events.count) + 1
        return EventObserver(numbered: events, from: first)
      }
      return EventObserver(
        Self.snapshot(of: state), standingAt: state.number, isReset: identifier?.isEmpty == false)
    }
  }

  private func subscribe(
    user: UInt32?, _ make: (borrowing State) -> EventObserver
  ) -> EventObserver? {
    state.locked { state in
      guard state.observers.count < Self.maximumObservers, !state.isClosed,
        user == nil || state.observers.values.count(where: { $0.user == user }) < Self.maximumObserversOfUser
      else { return nil }
      let observer = make(state)
      state.observers[ObjectIdentifier(observer)] = (observer, user)
      return observer
    }
  }

  private static func snapshot(of state: borrowing State) -> [AgentEvent] {
    state.latest.sorted { ($0.key.kind, $0.key.name) > ($1.key.kind, $1.key.name) }.map(\.value)
  }

  /// Nil for the identifier of another run, and for what is none.
  private func number(of identifier: String) -> UInt64? {
    guard identifier.hasPrefix("\(run)-") else { return nil }
    return UInt64(identifier.dropFirst(run.count + 1))
  }

  /// The observers now.
  var observerCount: Int { state.locked { $0.observers.count } }

  /// To be called when the stream ends; calling it again changes nothing.
  func unsubscribe(_ observer: EventObserver) {
    state.locked { $0.observers[ObjectIdentifier(observer)] = nil }
  }

  /// Ends every stream after what is queued for it. No observer is taken afterwards.
  func close() {
    let observers = state.locked { state in
      state.isClosed = true
      return state.observers.values.map(\.observer)
    }
    for observer in observers { observer.close() }
  }

  /// Whether nothing more is to be told to a new observer.
  private static func isOver(_ event: AgentEvent) -> Bool {
    switch event {
    case .transaction(let transaction):
      transaction.step == TransactionMachine.Step.finished.rawValue
        || transaction.step == TransactionMachine.Step.failed.rawValue
    case .download(let download): download.state.isFinal
    case .library, .issueReady, .correctionReady, .owned: true
    }
  }
}

/// One reader of the event stream. Publishing never waits for it.
final class EventObserver: Sendable {
  /// The next entry to write to the stream.
  enum Item: Sendable {
    /// A change.
    case event(AgentEvent)
    /// A change with its number, for a stream.
    case numbered(AgentEvent, UInt64)
    /// The observer's knowledge counts no more: how everything stands follows.
    case reset
    /// How everything stands was told up to this number.
    case mark(UInt64)
    /// A sign of life, so that a peer that is gone is noticed.
    case heartbeat
  }

  /// Things with an event that was not read, beside those of the snapshot: an observer that falls further behind is let go,
  /// and gets a new snapshot with its next stream.
  static let maximumSubjects = 2048

  /// The events that wait, and the reader that waits for them.
  private struct State {
    /// The events that were not read yet.
    var queue: ObserverQueue
    /// The number of subjects beyond which the observer is let go.
    var bound: Int
    /// Whether the observer is to be told first that it begins anew.
    var resetIsDue = false
    /// The number up to which the snapshot tells, which is told behind it; nil then, and for an observer that is no stream.
    var mark: UInt64?
    /// Whether a heartbeat waits behind the events.
    var heartbeatIsDue = false
    /// The reader, while nothing is there for it.
    var waiting: CheckedContinuation<Void, Never>?
    /// Whether nothing more is taken.
    var isClosed = false

    /// Whether a reader need not wait, since there is an item or the end.
    var hasItem: Bool { !queue.isEmpty || resetIsDue || mark != nil || heartbeatIsDue || isClosed }

    /// The next item, where one is there.
    mutating func popFirst() -> Item? {
      if resetIsDue {
        resetIsDue = false
        return .reset
      }
      if let number = mark, !queue.beginsWithSnapshot {
        mark = nil
        return .mark(number)
      }
      guard let (event, number) = queue.popFirstNumbered() else { return nil }
      return number.map { .numbered(event, $0) } ?? .event(event)
    }
  }

  /// Guards the state; the reader is woken after the lock.
  private let state: Mutex<State>
  /// Whether events have their numbers.
  private let isNumbered: Bool

  /// `snapshot` has one event of a subject at most.
  init(_ snapshot: [AgentEvent]) {
    isNumbered = false
    state = Mutex(
      State(queue: ObserverQueue(snapshot), bound: snapshot.count + Self.maximumSubjects))
  }

  /// An observer of a stream, which is told after the snapshot up to which number it stands.
  init(_ snapshot: [AgentEvent], standingAt number: UInt64, isReset: Bool) {
    isNumbered = true
    var begun = State(queue: ObserverQueue(snapshot), bound: snapshot.count + Self.maximumSubjects)
    (begun.resetIsDue, begun.mark) = (isReset, number)
    state = Mutex(begun)
  }

  /// An observer of a stream that goes on with these events, of which the first has that number.
  init(numbered events: [AgentEvent], from first: UInt64) {
    isNumbered = true
    var queue = ObserverQueue(bound: events.count + ObserverQueue.standardBound)
    for (index, event) in events.enumerated() { queue.append(event, number: first + UInt64(index)) }
    state = Mutex(State(queue: queue, bound: events.count + Self.maximumSubjects))
  }

  /// A reader that has fallen behind too far loses all that waits, and its stream ends.
  func post(_ event: AgentEvent, number: UInt64) {
    change { state in
      guard !state.isClosed else { return }
      state.queue.append(event, number: isNumbered ? number : nil)
      guard state.queue.subjects > state.bound else { return }
      state.queue = ObserverQueue()
      state.isClosed = true
    }
  }

  /// It waits behind all events.
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
      let (item, isClosed) = state.locked { state -> (Item?, Bool) in
        if let item = state.popFirst() { return (item, false) }
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

  /// Returns when there may be something, or the task is cancelled.
  private func waitForItem() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.locked { state in
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

  /// Changes the state under the lock and wakes the reader after it.
  private func change(_ body: (inout sending State) -> Void) {
    let waiting = state.locked { state in
      body(&state)
      return state.waiting.take()
    }
    waiting?.resume()
  }
}

import AgentRecords
import Commerce
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
  }

  /// Observers at one time; one more is refused.
  static let maximumObservers = 64
  /// Observers of one user at one time, so that one user leaves room for others.
  static let maximumObserversOfUser = 32

  /// Guards the state; observers lock their own within it.
  private let state = Mutex(State())

  /// Never waits for an observer.
  func publish(_ event: AgentEvent) {
    let subject = ObserverQueue.Subject(event)
    // Under one lock with the snapshot for new observers: no observer sees an older event after a newer one.
    state.withLock { state in
      state.latest[subject] = Self.isOver(event) ? nil : event
      for entry in state.observers.values { entry.observer.post(event) }
    }
  }

  /// An observer that first gets every unfinished transaction and every live download; nil when there are too
  /// many, or too many of `user`. Without a user it counts among all alone.
  func subscribe(user: UInt32? = nil) -> EventObserver? {
    state.withLock { state in
      guard state.observers.count < Self.maximumObservers, !state.isClosed,
        user == nil || state.observers.values.count(where: { $0.user == user }) < Self.maximumObserversOfUser
      else { return nil }
      let snapshot = state.latest.sorted { ($0.key.kind, $0.key.name) > ($1.key.kind, $1.key.name) }
      let observer = EventObserver(snapshot.map(\.value))
      state.observers[ObjectIdentifier(observer)] = (observer, user)
      return observer
    }
  }

  /// To be called when the stream ends; calling it again changes nothing.
  func unsubscribe(_ observer: EventObserver) {
    state.withLock { $0.observers[ObjectIdentifier(observer)] = nil }
  }

  /// Ends every stream after what is queued for it. No observer is taken afterwards.
  func close() {
    let observers = state.withLock { state in
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
    /// Whether a heartbeat waits behind the events.
    var heartbeatIsDue = false
    /// The reader, while nothing is there for it.
    var waiting: CheckedContinuation<Void, Never>?
    /// Whether nothing more is taken.
    var isClosed = false

    /// Whether a reader need not wait, since there is an item or the end.
    var hasItem: Bool { !queue.isEmpty || heartbeatIsDue || isClosed }
  }

  /// Guards the state; the reader is woken after the lock.
  private let state: Mutex<State>

  /// `snapshot` has one event of a subject at most.
  init(_ snapshot: [AgentEvent]) {
    state = Mutex(
      State(queue: ObserverQueue(snapshot), bound: snapshot.count + Self.maximumSubjects))
  }

  /// A reader that has fallen behind too far loses all that waits, and its stream ends.
  func post(_ event: AgentEvent) {
    change { state in
      guard !state.isClosed else { return }
      state.queue.append(event)
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

  /// Returns when there may be something, or the task is cancelled.
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

  /// Changes the state under the lock and wakes the reader after it.
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
  /// The subject of an event: its kind and its name.
  struct Subject: Hashable, Sendable {
    /// The name of the event's kind in the stream.
    var kind: String
    /// The identifier of the download or the transaction, or the product with its version.
    var name: String
  }

  /// An event that waits.
  private struct Entry {
    /// The subject, by which a later event finds this one.
    var subject: Subject
    /// The event itself.
    var event: AgentEvent
  }

  /// Above this many, older events of the same subject are dropped whatever they say.
  private let bound: Int
  /// Nil where an event was dropped, and for those before ``first``.
  private var entries: [Entry?] = []
  /// The index of the oldest entry that may wait.
  private var first = 0
  /// Where the events of each subject are, in order.
  private var positions: [Subject: [Int]] = [:]
  /// The number of events that wait.
  private(set) var count = 0

  /// An empty queue.
  init(bound: Int = 256) {
    self.bound = bound
  }

  /// With these events, of which no two have one subject.
  init(_ events: [AgentEvent]) {
    self.init()
    for event in events { add(event, Subject(event)) }
  }

  /// Whether nothing waits.
  var isEmpty: Bool { count == 0 }
  /// How many things the events are about.
  var subjects: Int { positions.count }

  /// Replaces a waiting event of the same download that differs in progress only; otherwise it goes to the
  /// end. Above ``bound`` the earlier events of its subject are dropped.
  mutating func append(_ event: AgentEvent) {
    let subject = Subject(event)
    if let earlier = positions[subject], let last = earlier.last, let waiting = entries[last]?.event {
      if Self.differsInProgressOnly(waiting, event) {
        entries[last]?.event = event
        return
      }
      // The latest event moves to the end: it must not overtake events of other subjects.
      if count >= bound {
        for position in earlier { entries[position] = nil }
        count -= earlier.count
        positions[subject] = nil
      }
    }
    add(event, subject)
  }

  /// Appends, and compacts the list where most of it was read or dropped.
  private mutating func add(_ event: AgentEvent, _ subject: Subject) {
    if entries.count > 2 * count + 1024 { compact() }
    positions[subject, default: []].append(entries.count)
    entries.append(Entry(subject: subject, event: event))
    count += 1
  }

  /// Forgets the places of what was read or dropped.
  private mutating func compact() {
    entries = entries.filter { $0 != nil }
    first = 0
    positions = [:]
    for (position, entry) in entries.enumerated() {
      if let entry { positions[entry.subject, default: []].append(position) }
    }
  }

  /// The oldest; nil where nothing waits.
  mutating func popFirst() -> AgentEvent? {
    while first < entries.count {
      defer { first += 1 }
      guard let entry = entries[first] else { continue }
      entries[first] = nil
      positions[entry.subject]?.removeFirst()
      if positions[entry.subject]?.isEmpty == true { positions[entry.subject] = nil }
      count -= 1
      return entry.event
    }
    entries.removeAll(keepingCapacity: true)
    first = 0
    return nil
  }

  /// It holds for events of downloads alone.
  private static func differsInProgressOnly(_ left: AgentEvent, _ right: AgentEvent) -> Bool {
    guard case .download(let left) = left, case .download(let right) = right else { return false }
    return left.state == right.state && left.reason == right.reason
  }
}

/// The subjects of events.
extension ObserverQueue.Subject {
  /// The kind and the identifier of what the event is about. Products are told apart by their versions, but for
  /// ownership, which is a product's.
  init(_ event: AgentEvent) {
    switch event {
    case .transaction(let transaction): self.init(kind: event.name, name: transaction.id.description)
    case .download(let download): self.init(kind: event.name, name: download.id.description)
    case .library(let library):
      self.init(kind: event.name, name: "\(library.item.product) \(library.item.version)")
    case .issueReady(let item), .correctionReady(let item):
      self.init(kind: event.name, name: "\(item.product) \(item.version)")
    case .owned(let entry): self.init(kind: event.name, name: entry.product.description)
    }
  }
}

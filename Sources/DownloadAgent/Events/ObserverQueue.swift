import AgentRecords
import Commerce
import PullboxAPI

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
    /// The number that an observer which has read it has read up to; nil for what stood before it came.
    var number: UInt64?
  }

  /// The bound where none is given.
  static let standardBound = 256

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
  init(bound: Int = standardBound) {
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
  /// end. Above ``bound`` the earlier events of its subject are dropped. An event that takes another's place keeps its number: events of
  /// other subjects that came between the two wait behind it.
  mutating func append(_ event: AgentEvent, number: UInt64? = nil) {
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
    add(event, subject, number)
  }

  /// Appends, and compacts the list where most of it was read or dropped.
  private mutating func add(_ event: AgentEvent, _ subject: Subject, _ number: UInt64? = nil) {
    if entries.count > 2 * count + 1024 { compact() }
    positions[subject, default: []].append(entries.count)
    entries.append(Entry(subject: subject, event: event, number: number))
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

  /// Whether the oldest has no number.
  var beginsWithSnapshot: Bool {
    entries[first...].lazy.compactMap(\.self).first.map { $0.number == nil } ?? false
  }

  /// The oldest; nil where nothing waits.
  mutating func popFirst() -> AgentEvent? { popFirstNumbered()?.event }

  /// The same with its number.
  mutating func popFirstNumbered() -> (event: AgentEvent, number: UInt64?)? {
    while first < entries.count {
      defer { first += 1 }
      guard let entry = entries[first] else { continue }
      entries[first] = nil
      positions[entry.subject]?.removeFirst()
      if positions[entry.subject]?.isEmpty == true { positions[entry.subject] = nil }
      count -= 1
      return (entry.event, entry.number)
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

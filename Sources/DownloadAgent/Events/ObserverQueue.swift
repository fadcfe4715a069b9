import Commerce
import PullboxAPI

/// What an observer has still to be told, in order and bounded: a newer progress of a download takes the place of the one
/// that waits, and when an observer falls far behind, only the latest word on each thing is kept.
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

  /// Above this many, older words on the same subject are dropped whatever they say.
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
      // The last word moves to the end: it must not overtake what was said about other things.
      if entries.count >= bound { entries.removeAll { $0.subject == subject } }
    }
    entries.append(Entry(subject: subject, event: event))
  }

  mutating func takeFirst() -> AgentEvent? {
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
    case .transaction(let transaction): self.init(kind: event.name, name: transaction.id.text)
    case .download(let download): self.init(kind: event.name, name: download.id.text)
    case .library(let library):
      self.init(kind: event.name, name: "\(library.item.product) \(library.item.version)")
    }
  }
}

import CoreTypes
internal import Synchronization

/// Something that writes change, of which readers keep in memory what they have made: as long as ``Database/changes(of:)`` says the
/// same, nothing of it has been committed since, and the database need not be asked.
///
/// A file is one process's alone. An engine that several write to tells each of them, after a moment.
public struct ChangeTopic: Hashable, Sendable, CustomStringConvertible {
  /// A word of the service's own.
  public let description: String

  /// The topic of that name.
  public init(_ description: String) {
    self.description = description
  }
}

/// The changes of a topic that others have committed since they were last taken: of what is named, or of anything.
public enum ChangeNews: Hashable, Sendable {
  /// The changes since then are of these names, and of no others.
  case of(Set<String>)
  /// Something was changed of which no names came.
  case ofAnything

  /// The names that are kept until they are taken; more become ``ofAnything``.
  static let maximumNames = 10_000

  /// Joins the two.
  package mutating func add(_ more: ChangeNews) {
    guard case .of(let old) = self, case .of(let new) = more, old.count + new.count <= Self.maximumNames
    else {
      self = .ofAnything
      return
    }
    self = .of(old.union(new))
  }
}

/// A reader of the news of one topic. It hears of what other processes that use the database commit, and of what this one does; nothing
/// of a file, which is one process's alone.
public final class ChangeReader: Sendable {
  private struct State {
    var news: ChangeNews?
    var waiting: CheckedContinuation<Void, Never>?
    var isClosed = false
  }

  private let state = Mutex(State())

  init() {}

  /// Returns the news since the last call, once there are any; nil when the task is cancelled or the reader is closed. One task at a
  /// time may wait.
  public func next() async -> ChangeNews? {
    while true {
      await wait()
      // A wake without news, of a cancellation that came and went, is none.
      let (news, isOver) = state.locked { state in
        defer { state.news = nil }
        return (state.news, state.isClosed || Task.isCancelled)
      }
      if isOver { return nil }
      if let news { return news }
    }
  }

  private func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.locked { state -> Bool in
          guard state.news == nil, !state.isClosed, !Task.isCancelled else { return true }
          precondition(state.waiting == nil, "two tasks wait for the same news")
          state.waiting = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      wake { _ in }
    }
  }

  func add(_ news: ChangeNews) {
    wake { state in
      if state.news == nil { state.news = news } else { state.news?.add(news) }
    }
  }

  /// Ends the wait for news, of which there are none any more.
  public func close() {
    wake { $0.isClosed = true }
  }

  /// Changes the state and wakes who waits, as one: a wake that came later could meet the next wait, for which there is no news.
  private func wake(_ change: (inout State) -> Void) {
    state.locked { state in
      change(&state)
      defer { state.waiting = nil }
      return state.waiting
    }?.resume()
  }
}

/// How often each topic was changed, and who reads of it.
package final class ChangeCounts: Sendable {
  private let counts = Mutex<[ChangeTopic: Int]>([:])
  /// Added to the counts of the database, within the lock of ``counts``.
  private let offsets = Mutex<[ChangeTopic: Int]>([:])
  private let readers = Mutex<[ChangeTopic: [ChangeReader]]>([:])

  package init() {}

  func reader(of topic: ChangeTopic) -> ChangeReader {
    let reader = ChangeReader()
    readers.locked { $0[topic, default: []].append(reader) }
    return reader
  }

  /// Ends the waits of all readers: nothing is heard any more.
  package func close() {
    for reader in readers.locked({ $0.values.flatMap(\.self) }) { reader.close() }
  }

  /// Tells the topic's readers.
  package func tell(_ news: ChangeNews, of topic: ChangeTopic) {
    for reader in readers.locked({ $0[topic] ?? [] }) { reader.add(news) }
  }

  package func count(of topic: ChangeTopic) -> Int { counts.locked { $0[topic] ?? 0 } }

  func add(_ topics: Set<ChangeTopic>) {
    guard !topics.isEmpty else { return }
    counts.locked { counts in for topic in topics { counts[topic, default: 0] += 1 } }
  }

  /// Takes a count on that the database keeps, unless a later one was heard before.
  package func raise(_ topic: ChangeTopic, to count: Int) {
    counts.locked { $0[topic] = max($0[topic] ?? 0, count + (offsets.locked { $0[topic] } ?? 0)) }
  }

  /// The database, another host of it by now, counts from an earlier number on: that is a change, and later counts are.
  package func restart(_ topic: ChangeTopic, at count: Int) {
    counts.locked { counts in
      let next = (counts[topic] ?? 0) + 1
      counts[topic] = next
      offsets.locked { $0[topic] = next - count }
    }
  }
}

extension Connection {
  /// Says that the body changes something of the topic: ``Database/changes(of:)`` counts it once the transaction is committed, and the
  /// topic's readers are told. With `names`, readers are told what was changed; without, that it may be anything. A name is one word.
  /// Throws ``DatabaseError`` `readOnly` in a read.
  public func noteChange(of topic: ChangeTopic, names: Set<String> = []) throws(DatabaseError) {
    guard mayWrite else { throw DatabaseError(.readOnly, "a read changes nothing of \(topic)") }
    switch session {
    case .file(let handle): handle.noteChange(of: topic)
    case .server(let session): try session.noteChange(of: topic, names: names)
    }
  }

  /// Whether other processes may use the database beside this one: never that of a file.
  public var isShared: Bool {
    switch session {
    case .file: false
    case .server: true
    }
  }
}

extension Database {
  /// How often commits have changed something of the topic since the database was opened, or a little more; counted before the
  /// writes of a commit are answered. Who reads the count first and the database then has everything that is counted.
  public func changes(of topic: ChangeTopic) -> Int { engine.changes.count(of: topic) }

  /// Returns a reader of the topic's news from now on. The database keeps it, and closes it at its own end.
  public func reader(of topic: ChangeTopic) -> ChangeReader { engine.changes.reader(of: topic) }

  /// Whether other processes may use the database beside this one: never a file.
  public var isShared: Bool { engine.file == nil }
}

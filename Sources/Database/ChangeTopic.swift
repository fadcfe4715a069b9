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

/// How often each topic was changed.
package final class ChangeCounts: Sendable {
  private let counts = Mutex<[ChangeTopic: Int]>([:])

  package init() {}

  package func count(of topic: ChangeTopic) -> Int { counts.withLock { $0[topic] ?? 0 } }

  func add(_ topics: Set<ChangeTopic>) {
    guard !topics.isEmpty else { return }
    counts.withLock { counts in for topic in topics { counts[topic, default: 0] += 1 } }
  }

  /// Takes a count on that the database keeps, unless a later one was heard before.
  package func raise(_ topic: ChangeTopic, to count: Int) {
    counts.withLock { $0[topic] = max($0[topic] ?? 0, count) }
  }
}

extension Connection {
  /// Says that the body changes something of the topic: ``Database/changes(of:)`` counts it once the transaction is committed.
  /// Throws ``DatabaseError`` `readOnly` in a read.
  public func noteChange(of topic: ChangeTopic) throws(DatabaseError) {
    guard mayWrite else { throw DatabaseError(.readOnly, "a read changes nothing of \(topic)") }
    switch session {
    case .file(let handle): handle.noteChange(of: topic)
    case .server(let session): try session.noteChange(of: topic)
    }
  }
}

extension Database {
  /// How often commits have changed something of the topic since the database was opened, or a little more; counted before the
  /// writes of a commit are answered. Who reads the count first and the database then has everything that is counted.
  public func changes(of topic: ChangeTopic) -> Int { engine.changes.count(of: topic) }
}

internal import Synchronization

/// Something that writes change, of which readers keep in memory what they have made: as long as ``Database/changes(of:)`` says the
/// same, nothing of it has been committed since, and the database need not be asked.
///
/// The database is one process's alone; an engine that several write to would have to tell each of them.
public struct ChangeTopic: Hashable, Sendable, CustomStringConvertible {
  /// A word of the service's own.
  public let description: String

  /// The topic of that name.
  public init(_ description: String) {
    self.description = description
  }
}

/// How often each topic was changed.
final class ChangeCounts: Sendable {
  private let counts = Mutex<[ChangeTopic: Int]>([:])

  func count(of topic: ChangeTopic) -> Int { counts.withLock { $0[topic] ?? 0 } }

  func add(_ topics: Set<ChangeTopic>) {
    guard !topics.isEmpty else { return }
    counts.withLock { counts in for topic in topics { counts[topic, default: 0] += 1 } }
  }
}

extension Connection {
  /// Says that the body changes something of the topic: ``Database/changes(of:)`` counts it once the transaction is committed.
  /// Throws ``DatabaseError`` `readOnly` in a read.
  public func noteChange(of topic: ChangeTopic) throws(DatabaseError) {
    guard mayWrite else { throw DatabaseError(.readOnly, "a read changes nothing of \(topic)") }
    handle.noteChange(of: topic)
  }
}

extension Database {
  /// How often commits have changed something of the topic since the database was opened, or a little more; counted before the
  /// writes of a commit are answered. Who reads the count first and the database then has everything that is counted.
  public func changes(of topic: ChangeTopic) -> Int { writer.changes.count(of: topic) }
}

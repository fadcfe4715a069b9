/// An engine below a ``Database``: it takes bodies from its queues, runs each as one transaction, and answers it.
package protocol DatabaseEngine: AnyObject, Sendable {
  /// The bodies that wait to read.
  var reads: BodyQueue { get }
  /// The bodies that wait to write.
  var writes: BodyQueue { get }
  /// Whether the caller is a thread on which a write's body runs.
  var isWriting: Bool { get }
  /// Whether the caller is a thread on which a read's body runs.
  var isReading: Bool { get }
  /// Counts of committed changes.
  var changes: ChangeCounts { get }
  /// Why the last write that had something to write was not written, nil if it was.
  var lastWriteFailure: DatabaseError? { get }
  /// The file below, for an engine that has one.
  var file: FileEngine? { get }

  /// Lets the engine gather the statistics by which it chooses between indexes. Throws ``DatabaseError``.
  func optimize() async throws
  /// Writes something that changes nothing, and throws ``DatabaseError`` where nothing can be written.
  func checkWritable() async throws
  /// Whether a commit happened whose answer was lost; from then on it can no longer. Nil where that is not known any more. May be asked again.
  /// Throws ``DatabaseError`` where no server can be asked now.
  func hasHappened(_ commit: CommitReference) async throws -> Bool?
  /// Serves what was asked before, and closes all connections. Blocks until done.
  func close()
  /// Takes no more bodies in; what waits is served. The last reference to the database is gone.
  func abandon()
}

extension DatabaseEngine {
  /// An engine that loses no answers has none to find again.
  package func hasHappened(_ commit: CommitReference) async throws -> Bool? { nil }
}

/// Names a commit whose answer was lost, as its engine does.
package struct CommitReference: Hashable, Sendable {
  /// The connection that committed.
  package let connection: Int64
  /// Which of its commits it was.
  package let number: Int64

  /// A reference from its parts.
  package init(connection: Int64, number: Int64) {
    self.connection = connection
    self.number = number
  }
}

/// A transaction's end of an engine: what a ``Connection`` that is none of SQLite's runs its statements on.
package protocol DatabaseSession: AnyObject {
  /// Runs one statement, hands row after row to `body` until that wants no more, and returns how many rows the statement changed.
  func run(
    _ sql: String, _ values: [SQLValue], _ body: (Row) throws(DatabaseError) -> RowDemand
  ) throws(DatabaseError) -> Int
  /// Sends one statement with the next one that is waited for.
  func enqueue(_ sql: String, _ values: [SQLValue]) throws(DatabaseError)
  /// Sends one statement behind all others of the body, with the commit.
  func enqueueLast(_ sql: String, _ values: [SQLValue]) throws(DatabaseError)
  /// From now on statements are sent for ``run(_:_:_:)`` to find their rows, which it answers without any until
  /// ``endPrefetch()``.
  func beginPrefetch()
  /// Ends what ``beginPrefetch()`` began.
  func endPrefetch()
  /// Asks ahead for a number that ``takeNumber(for:)`` then returns. One of each key is kept until the body ends.
  func reserveNumber(for key: NumberedKey) throws(DatabaseError)
  /// Returns the number for a new row: the one that was asked for ahead, else the next one.
  func takeNumber(for key: NumberedKey) throws(DatabaseError) -> Int64
  /// Runs any number of statements without values.
  func execute(script: String) throws(DatabaseError)
  /// Counts a change of the topic, of those names if there are any, once the transaction is committed.
  func noteChange(of topic: ChangeTopic, names: Set<String>) throws(DatabaseError)
  /// Takes a lock until the end of the transaction.
  func lock(_ lock: DatabaseLock) throws(DatabaseError)
}

/// The demand for further rows that the reader of a statement's rows returns.
package enum RowDemand {
  case row
  case end
}

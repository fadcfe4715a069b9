import CoreTypes
public import Database
internal import Synchronization
internal import SystemCalls

/// The connections to a PostgreSQL server.
final class PostgreSQLDatabase: DatabaseEngine {
  /// The state that the workers and the listener share.
  private let link: ServerLink
  /// The threads that run writing bodies, each on a connection of its own.
  private let writers: ServerWorkers
  /// The threads that run reading bodies. They see one state for a body (REPEATABLE READ).
  private let readers: ServerWorkers
  /// The thread that hears of what other nodes commit.
  private let listener: ServerListener
  /// The bound for ``checkWritable()``; other bodies bring their own.
  private let longestWait: Duration?

  /// Makes the queues and the descriptor of the listener. No connection is made and no thread begins before
  /// ``start(listeningOn:)``. Throws `SystemError` where the process has no descriptor left.
  init(_ address: PostgreSQLAddress, options: PostgreSQLOptions) throws(SystemError) {
    link = ServerLink(address: address, options: options)
    writers = ServerWorkers(.write, count: options.writers, queueLimit: options.queueLimit, link: link)
    readers = ServerWorkers(.read, count: options.readers, queueLimit: options.queueLimit, link: link)
    listener = try ServerListener(link: link)
    longestWait = options.longestWait
  }

  /// `first` is the connection that has claimed the tables. Throws ``DatabaseError`` where it cannot be listened on; then nothing has
  /// begun.
  func start(listeningOn first: ServerHandle) throws(DatabaseError) {
    try listener.start(on: first)
    writers.start()
    readers.start()
  }

  /// The queue that readers take bodies from, in the order of arrival.
  var reads: BodyQueue { readers.queue }
  /// The queue that writers take bodies from. Several run at once, so that only their locks put them in an order.
  var writes: BodyQueue { writers.queue }
  /// Whether the calling thread is one that runs writing bodies.
  var isWriting: Bool { writers.areCurrent }
  /// Whether the calling thread is one that runs reading bodies.
  var isReading: Bool { readers.areCurrent }
  /// The revisions of topics, raised by own commits and by those of other nodes.
  var changes: ChangeCounts { link.changes }
  /// The failure of the last write, kept until a write succeeds; nil while storage and server are well.
  var lastWriteFailure: DatabaseError? { link.failure.locked { $0 } }
  /// Always nil: there is no file that could be copied or checked.
  var file: FileEngine? { nil }

  /// The server gathers its statistics by itself.
  func optimize() async throws {}

  /// Runs a body that writes nothing but the mark of its connection. Throws ``DatabaseError``, `unavailable` or
  /// `readOnly` among others, where the server takes no commit.
  func checkWritable() async throws {
    // The mark of the connection is written.
    try await CalledBody(waitingAtMost: longestWait) { connection in _ = try connection.first("SELECT 1") }
      .end(in: writes)
  }

  func hasHappened(_ commit: CommitReference) async throws -> Bool? {
    try await BlockingPool.shared.run { [link] () throws(DatabaseError) in
      try CommitMark(commit).hasHappened(askedOn: link.connect())
    }
  }

  /// Refuses new bodies and tells the threads to end. Does not wait for them.
  func abandon() {
    reads.close()
    writes.close()
    listener.abandon()
  }

  /// Serves the bodies that are queued and joins the threads: readers first, then writers, and the listener last. Blocks.
  func close() {
    reads.close()
    readers.join()
    writes.close()
    writers.join()
    listener.close()
  }
}

/// How a database on PostgreSQL is used.
public struct PostgreSQLOptions: Sendable {
  /// The name by which the server lists the connections.
  public var application: String
  /// Connections that write, at least one.
  public var writers: Int
  /// Connections that read, at least one.
  public var readers: Int
  /// How many bodies may wait to read, and as many to write; more are refused as `overloaded`.
  public var queueLimit: Int
  /// How long a body waits for its turn, and for a server that is away; nil waits for ever.
  public var longestWait: Duration?
  /// Whether other processes may use the same tables.
  public var claim: Claim
  /// Whether each answer that was prefetched is compared with one of the moment of its use, and the process ends where they differ:
  /// for tests in which no other process writes.
  public var checksPrefetched = false

  /// The defaults: eight connections write and four read, 4096 bodies wait, each at most 5 seconds. The tables
  /// are shared.
  public init(
    application: String = "pullbox", writers: Int = 8, readers: Int = 4, queueLimit: Int = 4096,
    longestWait: Duration? = .seconds(5), claim: Claim = .shared
  ) {
    self.application = application
    self.writers = writers
    self.readers = readers
    self.queueLimit = queueLimit
    self.longestWait = longestWait
    self.claim = claim
  }
}

/// The opening of a database on a server instead of a file.
extension Database {
  /// Connects to a database on PostgreSQL and brings its tables up to date. Each connection has a thread; each body is a transaction of
  /// its own, which takes its locks first, and runs again where another one, or the connection, was in its way. Blocks: at start-up, not
  /// on the cooperative pool. Throws ``DatabaseError``: `cannotOpen` for a server that refuses, is too old or is hidden behind a pooler
  /// in transaction mode, whose tables another process uses so that this one may not, or whose records were moved away, `unavailable`
  /// where no server answers, `newerSchema`; and `SystemError` where the process has no descriptor left.
  public static func open(
    _ address: PostgreSQLAddress, schema: SchemaDefinition, options: PostgreSQLOptions = PostgreSQLOptions()
  ) throws -> Database {
    let first = try ServerHandle(address, application: options.application)
    let second = try ServerHandle(address, application: options.application)
    try first.checkServer(other: second)
    try first.beginUse(options.claim)
    try first.refuseMark()
    try first.apply(schema)
    let engine = try PostgreSQLDatabase(address, options: options)
    try engine.start(listeningOn: first)
    return Database(engine: engine, longestWait: options.longestWait)
  }
}

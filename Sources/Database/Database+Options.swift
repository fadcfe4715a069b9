public import CoreTypes
internal import Glibc

extension Database {
  /// How a database is opened.
  public struct Options: Sendable {
    /// The durability of commits under a power cut: SQLite's `synchronous`.
    public enum Durability: String, Sendable {
      /// A committed transaction survives a power cut.
      case full = "FULL"
      /// A power cut may take the last transactions away; the database stays whole.
      case normal = "NORMAL"
    }

    /// How often the body of a write runs: once, unless a test wants to see that a body can run again and has no
    /// effect outside its connection.
    public enum Rehearsal: Hashable, Sendable {
      /// Each body runs once.
      case none
      /// Each body runs twice: what it did first is undone before it runs again. Traps when the two runs come to
      /// different ends.
      case twice
      /// Each body runs twice, and between the two runs the next body that waits runs, as if it had won a race.
      case interleaved
    }

    /// The durability of commits under a power cut.
    public var durability: Durability
    /// How long to wait for another process that holds the lock.
    public var busyTimeout: Duration
    /// Connections that read, at least one.
    public var readers: Int
    /// How many bodies may wait to read, and as many to write; more are refused as `overloaded`.
    public var queueLimit: Int
    /// How long a body waits for its turn before it is refused as `overloaded`; nil waits for ever.
    public var longestWait: Duration?
    /// How long a write that joins others waits for them, at most: see ``Database/Commit/withOthers``.
    public var gathering: Duration
    /// The largest part of the file that the connection that writes keeps in memory. Each connection that
    /// reads keeps a quarter of it, and half a mebibyte at least.
    public var cache: ByteCount
    /// How long the write-ahead log grows before it is moved to its place in the file. The room stays its own.
    public var log: ByteCount
    /// Room on the disk that is kept for the day when there is none: see ``Database/usingReserve(_:)``.
    public var reserve: ByteCount
    /// For tests: whether bodies of writes run twice.
    public var rehearsal: Rehearsal
    /// For tests: bodies that lock something of these kinds run once all the same.
    public var kindsNotRehearsed: Set<String>
    /// For tests in which no other process writes: whether a server's answer that was prefetched is compared with one of the moment of its
    /// use, and the process ends where they differ. A file has no such answers.
    public var checksPrefetched = false
    /// For tests: called with each lock that a body of a write takes, in the order in which it takes them, where another engine
    /// would take it. On the thread that writes, before the body's next statement.
    public var lockObserver: (@Sendable (DatabaseLock) -> Void)?

    /// The defaults: nothing committed is lost, a lock is waited for 5 seconds, one connection reads for each
    /// processor up to four, 4096 bodies wait, each at most 5 seconds, and for others at most 2 milliseconds; 8 MiB of the file
    /// are kept in memory for writing, the log has up to 16 MiB, no room is reserved.
    public init(
      durability: Durability = .full, busyTimeout: Duration = .seconds(5), readers: Int? = nil,
      queueLimit: Int = 4096, longestWait: Duration? = .seconds(5),
      gathering: Duration = .milliseconds(2), cache: ByteCount = .mebibytes(8),
      log: ByteCount = .mebibytes(16), reserve: ByteCount = .zero, rehearsal: Rehearsal = .none,
      kindsNotRehearsed: Set<String> = [], lockObserver: (@Sendable (DatabaseLock) -> Void)? = nil
    ) {
      self.durability = durability
      self.busyTimeout = busyTimeout
      self.readers = max(1, readers ?? min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
      self.queueLimit = queueLimit
      self.longestWait = longestWait
      self.gathering = gathering
      self.cache = cache
      self.log = log
      self.reserve = reserve
      self.rehearsal = rehearsal
      self.kindsNotRehearsed = kindsNotRehearsed
      self.lockObserver = lockObserver
    }

    /// For a program with one user: one connection reads, and nothing is refused because it waits.
    public static let small = Options(
      readers: 1, queueLimit: .max, longestWait: nil, cache: .mebibytes(1), log: .mebibytes(4))

    /// The largest part of the file that a connection that reads keeps in memory.
    var readerCache: ByteCount { max(ByteCount(cache.rawValue / 4), .kibibytes(512)) }

    func rehearses(_ body: QueuedBody) -> Bool {
      rehearsal != .none && !body.locks.contains { kindsNotRehearsed.contains($0.kind) }
    }
  }
}

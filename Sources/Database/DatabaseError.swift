internal import CSQLite
public import CoreTypes

/// A failure of the database. It never holds a bound value: the statement is quoted with its `?`, or as its engine writes that.
public struct DatabaseError: TemporarilyFailing, Sendable, CustomStringConvertible {
  /// The kind of a failure, from SQLite's primary result code or our own.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case busy
      case overloaded
      case unavailable
      case outcomeUnknown = "outcome unknown"
      case constraint
      case outOfSpace = "out of space"
      case inputOutput = "input or output"
      case corrupt
      case cannotOpen = "cannot open"
      case newerSchema = "newer schema"
      case readOnly = "read only"
      case closed
      case misuse
      case unexpectedValue = "unexpected value"
      case other
    }

    private let name: Name
    private init(_ name: Name) { self.name = name }

    /// Another process held the lock for longer than the busy timeout. Worth another try.
    public static let busy = Code(.busy)
    /// Too many bodies wait, or this one waited too long and was not begun. Worth another try, later.
    public static let overloaded = Code(.overloaded)
    /// The server of the database cannot be reached, or serves no client now. Nothing was written.
    public static let unavailable = Code(.unavailable)
    /// The connection was lost while a write was committed, and none could be had to ask whether it was. The same call may be
    /// made again where it may happen twice.
    public static let outcomeUnknown = Code(.outcomeUnknown)
    /// A UNIQUE, CHECK, NOT NULL or foreign key constraint, or a trigger's RAISE, refused the change.
    public static let constraint = Code(.constraint)
    /// The disk is full.
    public static let outOfSpace = Code(.outOfSpace)
    /// The file system failed.
    public static let inputOutput = Code(.inputOutput)
    /// Damaged, or not a database at all.
    public static let corrupt = Code(.corrupt)
    /// The file cannot be opened, or its file system allows no write-ahead log.
    public static let cannotOpen = Code(.cannotOpen)
    /// The file was written by a later version of this program.
    public static let newerSchema = Code(.newerSchema)
    /// A statement that writes was given to `read`, or the file cannot be written.
    public static let readOnly = Code(.readOnly)
    /// Used after `close()`.
    public static let closed = Code(.closed)
    /// A defect of ours: wrong SQL, a wrong number of values.
    public static let misuse = Code(.misuse)
    /// A column is not there, or holds another type than was asked for.
    public static let unexpectedValue = Code(.unexpectedValue)
    /// None of the others; ``DatabaseError/extendedCode`` says more.
    public static let other = Code(.other)

    /// The code in words.
    public var description: String { name.rawValue }
  }

  /// The kind of this failure.
  public let code: Code
  /// SQLite's extended result code; 0 when SQLite was not asked.
  public let extendedCode: Int32
  /// PostgreSQL's SQLSTATE, five characters; empty when PostgreSQL did not answer.
  public let state: String
  /// The message of SQLite, or of this module.
  public let message: String
  /// The statement, without values; empty when there is none.
  public let sql: String
  /// With `outcomeUnknown`: the commit that may have happened, for ``Database/hasHappened(_:)``; nil where that will never be known.
  package let commit: CommitReference?

  init(_ code: Code, _ message: String, sql: String = "") {
    self.code = code
    self.message = message
    self.sql = sql
    extendedCode = 0
    state = ""
    commit = nil
  }

  /// Creates the error of an engine that tells its failures by SQLSTATE.
  package init(
    _ code: Code, state: String = "", _ message: String, sql: String, commit: CommitReference? = nil
  ) {
    self.code = code
    self.state = state
    self.message = message
    self.sql = sql
    self.commit = commit
    extendedCode = 0
  }

  init(extendedCode: Int32, message: String, sql: String) {
    self.extendedCode = extendedCode
    state = ""
    commit = nil
    self.message = message
    self.sql = sql
    code =
      switch extendedCode & 0xFF {
      case SQLITE_BUSY, SQLITE_LOCKED: .busy
      case SQLITE_CONSTRAINT: .constraint
      case SQLITE_FULL: .outOfSpace
      case SQLITE_IOERR: .inputOutput
      case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
      case SQLITE_CANTOPEN: .cannotOpen
      case SQLITE_READONLY: .readOnly
      case SQLITE_MISUSE, SQLITE_RANGE, SQLITE_ERROR: .misuse
      default: .other
      }
  }

  /// A UNIQUE or PRIMARY KEY constraint refused the row.
  public var isUniqueViolation: Bool {
    state == "23505" || extendedCode == SQLITE_CONSTRAINT | (8 << 8)
      || extendedCode == SQLITE_CONSTRAINT | (6 << 8)
      || extendedCode == SQLITE_CONSTRAINT | (10 << 8)
  }

  /// A foreign key constraint refused the change.
  public var isForeignKeyViolation: Bool { state == "23503" || extendedCode == SQLITE_CONSTRAINT | (3 << 8) }

  /// The same call may succeed later: only others were in the way.
  public var isRetryable: Bool { code == .busy || code == .overloaded || code == .unavailable }

  /// The disk or the file is at fault: full, failing, not to be written, damaged.
  public var isOfStorage: Bool {
    switch code {
    case .outOfSpace, .inputOutput, .corrupt, .cannotOpen: true
    // Ours is a statement that writes in a read.
    case .readOnly: extendedCode != 0
    default: false
    }
  }

  /// A full disk, a queue that is full, a disk or file that fails; nil for what would fail again.
  public var temporaryFailure: TemporaryFailure? {
    switch code {
    case .outOfSpace: .outOfSpace
    case .busy, .overloaded: .overloaded
    case .unavailable: .unreachable
    case .outcomeUnknown: .outcomeUnknown
    case _ where isOfStorage: .storage
    default: nil
    }
  }

  /// Code, extended code, message and statement in one line.
  public var description: String {
    let number = extendedCode != 0 ? " (\(extendedCode))" : state.isEmpty ? "" : " (\(state))"
    return sql.isEmpty ? "\(code)\(number): \(message)" : "\(code)\(number): \(message) in: \(sql)"
  }
}

extension DatabaseError {
  /// Returns SQLite's error of the call that just answered `result`.
  static func last(of database: OpaquePointer, result: Int32, sql: String) -> DatabaseError {
    let message = unsafe sqlite3_errmsg(database).map { unsafe String(cString: $0) } ?? ""
    return DatabaseError(extendedCode: result, message: message, sql: sql)
  }
}

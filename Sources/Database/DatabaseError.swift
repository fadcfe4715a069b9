internal import CSQLite

/// What went wrong with the database. Never holds a bound value: the statement is quoted with its `?`.
public struct DatabaseError: Error, Sendable, CustomStringConvertible {
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case busy
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

    /// Another process held the lock for longer than the busy timeout. The one code worth another try.
    public static let busy = Code(.busy)
    public static let constraint = Code(.constraint)
    public static let outOfSpace = Code(.outOfSpace)
    public static let inputOutput = Code(.inputOutput)
    /// Damaged, or not a database at all.
    public static let corrupt = Code(.corrupt)
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
    public static let other = Code(.other)

    public var description: String { name.rawValue }
  }

  public let code: Code
  /// SQLite's extended result code; 0 when SQLite was not asked.
  public let extendedCode: Int32
  public let message: String
  /// The statement, without values; empty when there is none.
  public let sql: String

  init(_ code: Code, _ message: String, sql: String = "") {
    self.code = code
    self.message = message
    self.sql = sql
    extendedCode = 0
  }

  init(extendedCode: Int32, message: String, sql: String) {
    self.extendedCode = extendedCode
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
    extendedCode == SQLITE_CONSTRAINT | (8 << 8) || extendedCode == SQLITE_CONSTRAINT | (6 << 8)
      || extendedCode == SQLITE_CONSTRAINT | (10 << 8)
  }

  public var isForeignKeyViolation: Bool { extendedCode == SQLITE_CONSTRAINT | (3 << 8) }

  public var isRetryable: Bool { code == .busy }

  public var description: String {
    let number = extendedCode == 0 ? "" : " (\(extendedCode))"
    return sql.isEmpty ? "\(code)\(number): \(message)" : "\(code)\(number): \(message) in: \(sql)"
  }
}

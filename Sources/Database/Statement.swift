internal import CSQLite
internal import Synchronization

/// One prepared statement, finalized when it goes away. Confined with the connection it belongs to; it must
/// go before that does.
@safe
final class Statement {
  let sql: String
  let columns: [String]
  let isReadOnly: Bool
  /// Between the first step and the reset: it cannot be used for anything else.
  private(set) var isInUse = false

  /// When it was last asked for, in the count of its cache.
  fileprivate var lastUse = 0

  private let handle: OpaquePointer
  private let database: OpaquePointer
  private let log: StatementLog.Entry?
  let parameterCount: Int

  /// `sql` must hold one statement and nothing after it.
  init(_ sql: String, database: OpaquePointer, log: StatementLog.Entry?) throws(DatabaseError) {
    self.sql = sql
    self.log = log
    unsafe self.database = database
    var text = sql
    var prepared: OpaquePointer?
    var isComplete = true
    let result = text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        var tail: UnsafePointer<CChar>?
        let result = unsafe sqlite3_prepare_v3(
          database, characters.baseAddress, Int32(characters.count), UInt32(SQLITE_PREPARE_PERSISTENT),
          &prepared, &tail)
        if let tail = unsafe tail, let start = characters.baseAddress {
          let rest = unsafe characters.suffix(from: tail - start)
          isComplete = unsafe rest.allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        }
        return result
      }
    }
    guard result == SQLITE_OK else { throw unsafe .last(of: database, result: result, sql: sql) }
    guard let prepared = unsafe prepared, isComplete else {
      unsafe sqlite3_finalize(prepared)
      throw DatabaseError(.misuse, "not one statement", sql: sql)
    }
    unsafe handle = prepared
    isReadOnly = unsafe sqlite3_stmt_readonly(prepared) != 0
    parameterCount = Int(unsafe sqlite3_bind_parameter_count(prepared))
    let count = unsafe sqlite3_column_count(prepared)
    columns = (0..<count).map { index in
      unsafe sqlite3_column_name(prepared, index).map { unsafe String(cString: $0) } ?? ""
    }
  }

  deinit {
    // Answers the error of the last step, which was thrown when it happened.
    _ = unsafe sqlite3_finalize(handle)
  }

  /// Without values; hands every row to `body`.
  func run(_ body: (Row) throws(DatabaseError) -> Void) throws(DatabaseError) {
    try run([], orThrow: { $0 }) { row throws(DatabaseError) in
      try body(row)
      return .row
    }
  }

  /// Binds `values` in order, hands row after row to `body` until there is none or it wants no more, and resets
  /// whatever happens.
  func run<Failure: Error>(
    _ values: [SQLValue], orThrow wrap: (DatabaseError) -> Failure, _ body: (Row) throws(Failure) -> RowDemand
  ) throws(Failure) {
    precondition(!isInUse)
    isInUse = true
    defer { reset() }
    do throws(DatabaseError) { try bind(values) } catch { throw wrap(error) }
    while true {
      let result = unsafe sqlite3_step(handle)
      if result == SQLITE_DONE { return }
      guard result == SQLITE_ROW else { throw wrap(unsafe .last(of: database, result: result, sql: sql)) }
      if try body(row()) == .end { return }
    }
  }

  private func reset() {
    // Both repeat the error of the last step, which was thrown when it happened.
    _ = unsafe sqlite3_reset(handle)
    if parameterCount > 0 { _ = unsafe sqlite3_clear_bindings(handle) }
    // Operations of SQLite's virtual machine: they grow with the rows that were visited, answered or not.
    log?.steps.add(Int(unsafe sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_VM_STEP, 1)), ordering: .relaxed)
    isInUse = false
  }

  private func bind(_ values: [SQLValue]) throws(DatabaseError) {
    guard values.count == parameterCount else {
      throw DatabaseError(.misuse, "\(values.count) values for \(parameterCount) places", sql: sql)
    }
    for index in values.indices {
      let result = bind(values[index], at: Int32(index + 1))
      guard result == SQLITE_OK else { throw unsafe .last(of: database, result: result, sql: sql) }
    }
  }

  private func bind(_ value: SQLValue, at index: Int32) -> Int32 {
    switch value {
    case .null: return unsafe sqlite3_bind_null(handle, index)
    case .integer(let integer): return unsafe sqlite3_bind_int64(handle, index, integer)
    case .real(let real): return unsafe sqlite3_bind_double(handle, index, real)
    case .text(var text):
      // By length: a text may hold a zero byte. An empty one must not become NULL, which a nil pointer would
      // make it.
      return text.withUTF8 { bytes in
        guard let start = bytes.baseAddress, let count = Int32(exactly: bytes.count), count > 0 else {
          return bytes.isEmpty ? unsafe csqlite_bind_text(handle, index, "", 0) : SQLITE_TOOBIG
        }
        return unsafe start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { characters in
          unsafe csqlite_bind_text(handle, index, characters, count)
        }
      }
    case .blob(let bytes):
      guard let count = Int32(exactly: bytes.count) else { return SQLITE_TOOBIG }
      return unsafe bytes.withUnsafeBytes { unsafe csqlite_bind_blob(handle, index, $0.baseAddress, count) }
    }
  }

  private func row() -> Row {
    Row(columns: columns, values: (0..<Int32(columns.count)).map(value))
  }

  private func value(_ index: Int32) -> SQLValue {
    switch unsafe sqlite3_column_type(handle, index) {
    case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(handle, index))
    case SQLITE_FLOAT: return .real(unsafe sqlite3_column_double(handle, index))
    case SQLITE_TEXT:
      guard let start = unsafe sqlite3_column_text(handle, index) else { return .text("") }
      let count = Int(unsafe sqlite3_column_bytes(handle, index))
      return .text(unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
    case SQLITE_BLOB:
      let start = unsafe sqlite3_column_blob(handle, index)
      let count = Int(unsafe sqlite3_column_bytes(handle, index))
      return .blob(unsafe Array(UnsafeRawBufferPointer(start: start, count: count)))
    default: return .null
    }
  }
}

/// The statements used last, by their text.
struct StatementCache {
  /// A text that is hashed by its length and a few of its bytes: statements are long, few, and asked for all the
  /// time, and the same literal is equal to itself at a glance.
  private struct Key: Hashable {
    let sql: String

    func hash(into hasher: inout Hasher) {
      let bytes = sql.utf8.span
      var digest = UInt64(truncatingIfNeeded: bytes.count)
      let step = max(1, bytes.count / 16)
      for index in stride(from: bytes.count - 1, through: 0, by: -step) {
        digest = digest &* 0x100_0000_01B3 ^ UInt64(bytes[index])
      }
      hasher.combine(digest)
    }
  }

  private var statements: [Key: Statement] = [:]
  private let capacity: Int
  private var uses = 0

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// The statement for `sql`, ready to run. One that is already running (a body asks the question it is
  /// answering) is not disturbed: the caller gets a second one.
  mutating func statement(
    for sql: String, _ prepare: (String) throws(DatabaseError) -> Statement
  ) throws(DatabaseError) -> Statement {
    uses += 1
    let key = Key(sql: sql)
    if let cached = statements[key] {
      if cached.isInUse { return try prepare(sql) }
      cached.lastUse = uses
      return cached
    }
    let statement = try prepare(sql)
    statement.lastUse = uses
    if statements.count >= capacity, let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      statements[oldest.key] = nil
    }
    statements[key] = statement
    return statement
  }

  mutating func removeAll() {
    statements = [:]
  }
}

internal import CPostgreSQL
internal import CoreTypes
internal import Database
internal import Glibc

/// Owns one connection of libpq, in pipeline mode: commands are sent without waiting for the answers of those before. Not Sendable:
/// it lives on its connection's thread. Every call of libpq that works on a connection is here.
@safe
final class ServerHandle {
  /// How long an answer is waited for: longer than the server lets a statement run.
  private static let patience: Duration = .seconds(60)

  private let connection: OpaquePointer
  /// The number of the process that serves the connection, as the server told it while connecting; a pooler tells another one.
  let backend: Int32

  /// Connects, which takes as long as the settings say for each host. Throws ``DatabaseError``: `unavailable` where no server answers,
  /// `cannotOpen` where the server refuses the user, the password or the database.
  init(_ address: PostgreSQLAddress, application: String) throws(DatabaseError) {
    let settings = address.settings(named: application)
    let opened = unsafe Self.withPointers(to: settings.map(\.keyword)) { keywords in
      unsafe Self.withPointers(to: settings.map(\.value)) { values in
        unsafe PQconnectdbParams(keywords, values, 0)
      }
    }
    guard let opened = unsafe opened else {
      throw DatabaseError(.unavailable, "no memory for a connection", sql: "")
    }
    unsafe connection = opened
    backend = unsafe PQbackendPID(opened)
    guard unsafe PQstatus(opened) == CONNECTION_OK else { throw refusal() }
    guard unsafe PQsetnonblocking(opened, 1) == 0, unsafe PQenterPipelineMode(opened) == 1 else {
      throw lost("the connection has no pipeline")
    }
    // What the server has to say beside answers would go to standard error.
    unsafe PQsetNoticeProcessor(opened, { _, _ in }, nil)
  }

  deinit { unsafe PQfinish(connection) }

  var isLost: Bool { unsafe PQstatus(connection) != CONNECTION_OK }

  /// The version as a number: 150018 for 15.18.
  var version: Int { Int(unsafe PQserverVersion(connection)) }

  /// Whether a transaction is open, as far as answers were read.
  var isInTransaction: Bool {
    switch unsafe PQtransactionStatus(connection) {
    case PQTRANS_IDLE, PQTRANS_UNKNOWN: false
    default: true
    }
  }

  // MARK: sending

  func sendPrepare(_ name: String, _ sql: String) throws(DatabaseError) {
    try sent(unsafe PQsendPrepare(connection, name, sql, 0, nil))
  }

  func sendExecute(_ name: String, _ values: [SQLValue]) throws(DatabaseError) {
    var bytes: [UInt8] = []
    var starts: [Int?] = []
    var lengths: [Int32] = []
    var formats: [Int32] = []
    for value in values {
      guard let parameter = try value.parameter() else {
        starts.append(nil)
        lengths.append(0)
        formats.append(0)
        continue
      }
      starts.append(bytes.count)
      lengths.append(Int32(clamping: parameter.bytes.count))
      formats.append(parameter.isBinary ? 1 : 0)
      bytes += parameter.bytes
      // Text ends with a zero byte.
      bytes.append(0)
    }
    let result = unsafe bytes.withUnsafeBytes { all in
      unsafe lengths.withUnsafeBufferPointer { lengths in
        unsafe formats.withUnsafeBufferPointer { formats in
          let start = unsafe all.baseAddress?.assumingMemoryBound(to: CChar.self)
          var pointers: [UnsafePointer<CChar>?] = unsafe []
          for offset in starts {
            if let offset, let start = unsafe start {
              unsafe pointers.append(start + offset)
            } else {
              unsafe pointers.append(nil)
            }
          }
          return unsafe pointers.withUnsafeBufferPointer { values in
            // The answer in binary form.
            unsafe PQsendQueryPrepared(
              connection, name, Int32(values.count), values.baseAddress, lengths.baseAddress,
              formats.baseAddress, 1)
          }
        }
      }
    }
    try sent(result)
  }

  /// An error before this point leaves out what follows up to it.
  func sendSync() throws(DatabaseError) {
    try sent(unsafe PQpipelineSync(connection))
  }

  /// The server sends what it has, though no sync was sent.
  func sendFlushRequest() throws(DatabaseError) {
    try sent(unsafe PQsendFlushRequest(connection))
  }

  /// Hands everything that was sent to the kernel. Answers are read meanwhile: a server that cannot send would read nothing either.
  func flush() throws(DatabaseError) {
    while true {
      let result = unsafe PQflush(connection)
      if result == 0 { return }
      guard result > 0 else { throw lost() }
      if try wait(for: Int16(POLLIN | POLLOUT)) & Int16(POLLIN) != 0 { try consume() }
    }
  }

  private func sent(_ result: Int32) throws(DatabaseError) {
    if result != 1 { throw lost() }
  }

  // MARK: answers

  /// The next answer; nil at the end of a command's answers.
  func next() throws(DatabaseError) -> ServerAnswer? {
    while unsafe PQisBusy(connection) == 1 {
      _ = try wait(for: Int16(POLLIN))
      try consume()
    }
    guard let result = unsafe PQgetResult(connection) else { return nil }
    return unsafe ServerAnswer(result)
  }

  private func consume() throws(DatabaseError) {
    guard unsafe PQconsumeInput(connection) == 1 else { throw lost() }
  }

  private func wait(for events: Int16) throws(DatabaseError) -> Int16 {
    let end = ContinuousClock.now + Self.patience
    var descriptor = pollfd(fd: unsafe PQsocket(connection), events: events, revents: 0)
    guard descriptor.fd >= 0 else { throw lost() }
    while true {
      let left = (end - .now).components
      let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
      guard milliseconds > 0 else { throw lost("the server does not answer") }
      let count = unsafe poll(&descriptor, 1, Int32(clamping: milliseconds))
      if count > 0 { return descriptor.revents }
      guard count == 0 || errno == EINTR else { throw lost("the connection cannot be waited for") }
    }
  }

  // MARK: outside of the pipeline

  /// Runs any number of statements, without values; returns the last one's rows as text. For starts and probes.
  func executeAlone(_ sql: String) throws(DatabaseError) -> [[String?]] {
    guard unsafe PQexitPipelineMode(connection) == 1 else { throw lost("the pipeline is not empty") }
    defer { _ = unsafe PQenterPipelineMode(connection) }
    guard let result = unsafe PQexec(connection, sql) else { throw lost() }
    let answer = unsafe ServerAnswer(result)
    if let error = answer.error(sql: "") { throw error }
    return answer.textRows
  }

  /// Runs `COPY … FROM STDIN`, and sends what `next` answers until that is nil. Returns the number of rows that came in. The server may
  /// work for long after the last of them: that is waited for without an end. Throws what `next` throws; none of the rows came in then.
  func copy(_ sql: String, _ next: () throws -> [UInt8]?) throws -> Int {
    guard unsafe PQexitPipelineMode(connection) == 1 else { throw lost("the pipeline is not empty") }
    defer { _ = unsafe PQenterPipelineMode(connection) }
    guard let begun = unsafe PQexec(connection, sql) else { throw lost() }
    let begin = unsafe ServerAnswer(begun)
    guard begin.kind == .copying else { throw begin.error(sql: sql) ?? lost("rows are not taken") }
    var failure: (any Error)?
    do {
      while let bytes = try next() { try send(bytes) }
    } catch { failure = error }
    try endCopy(failing: failure != nil)
    var count = 0
    while let result = unsafe PQgetResult(connection) {
      let answer = unsafe ServerAnswer(result)
      if let error = answer.error(sql: sql), failure == nil { failure = error }
      count = answer.changedRows
    }
    if let failure { throw failure }
    return count
  }

  /// Hands bytes to the kernel, as fast as the server takes them.
  private func send(_ bytes: [UInt8]) throws(DatabaseError) {
    let result = unsafe bytes.withUnsafeBytes { bytes in
      unsafe PQputCopyData(
        connection, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count))
    }
    guard result == 1 else { throw lost() }
    try flush()
  }

  private func endCopy(failing: Bool) throws(DatabaseError) {
    guard unsafe PQputCopyEnd(connection, failing ? "the copy was broken off" : nil) == 1 else {
      throw lost()
    }
    try flush()
  }

  /// The name of each notification that has come, after waiting for at most `milliseconds`, or until `descriptor` can be read. Only
  /// outside of a pipeline's use.
  func notifications(waiting milliseconds: Int32, orUntil descriptor: Int32) throws(DatabaseError) -> [String]
  {
    var descriptors = [
      pollfd(fd: unsafe PQsocket(connection), events: Int16(POLLIN), revents: 0),
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
    ]
    guard descriptors[0].fd >= 0 else { throw lost() }
    let count = unsafe poll(&descriptors, 2, milliseconds)
    guard count >= 0 || errno == EINTR else { throw lost("the connection cannot be waited for") }
    if descriptors[0].revents != 0 { try consume() }
    var names: [String] = []
    while let notification = unsafe PQnotifies(connection) {
      unsafe names.append(String(cString: notification.pointee.extra))
      unsafe PQfreemem(notification)
    }
    return names
  }

  // MARK: errors

  func lost(_ sentence: String? = nil) -> DatabaseError {
    DatabaseError(.unavailable, state: "08006", sentence ?? message(), sql: "")
  }

  private func message() -> String {
    let text = unsafe PQerrorMessage(connection).map { unsafe String(cString: $0) } ?? ""
    return text.split(whereSeparator: \.isNewline).first.map(String.init) ?? "the connection was lost"
  }

  /// While connecting there is a text only. A server that refuses the user or the database says so in its language, after FATAL.
  private func refusal() -> DatabaseError {
    let text = unsafe PQerrorMessage(connection).map { unsafe String(cString: $0) } ?? ""
    return Self.refusal(text, needsPassword: unsafe PQconnectionNeedsPassword(connection) == 1)
  }

  /// Decides by the text, which has a line for each host, and lines of hints behind them: those begin with a tab or the word for them. A
  /// name server that is away says nothing of the name.
  static func refusal(_ text: String, needsPassword: Bool) -> DatabaseError {
    let lines = text.split(whereSeparator: \.isNewline)
    let sentences = lines.filter { line in
      line.first?.isWhitespace == false && !hints.contains { line.hasPrefix($0) }
    }
    let isRefused =
      needsPassword
      || sentences.contains { line in
        refusals.contains { line.contains($0) } && !line.contains("Temporary failure in name resolution")
      }
    return DatabaseError(
      isRefused ? .cannotOpen : .unavailable, state: isRefused ? "28000" : "08001",
      (sentences.last ?? lines.last).map(String.init) ?? "no server answers", sql: "")
  }

  private static let hints = ["DETAIL:", "HINT:"]

  private static let refusals = [
    "password authentication failed", "does not exist", "no pg_hba.conf entry",
    "permission denied for database",
    "could not translate host name", "root certificate", "server does not support SSL",
    "authentication failed",
  ]

  /// Calls `body` with the addresses of `texts`, and a null pointer behind them.
  private static func withPointers<Value>(
    to texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value
  ) -> Value {
    var bytes: [CChar] = []
    var starts: [Int] = []
    for text in texts {
      starts.append(bytes.count)
      bytes += text.utf8CString
    }
    return unsafe bytes.withUnsafeBufferPointer { all in
      var pointers: [UnsafePointer<CChar>?] = unsafe starts.map { start in
        unsafe all.baseAddress.map { unsafe $0 + start }
      }
      unsafe pointers.append(nil)
      return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
  }
}

/// Owns one answer of libpq.
@safe
final class ServerAnswer {
  private let result: OpaquePointer

  init(_ result: OpaquePointer) {
    unsafe self.result = result
  }

  deinit { unsafe PQclear(result) }

  /// The kinds of answers.
  enum Kind {
    case rows
    case done
    /// Rows are taken from now on.
    case copying
    case sync
    /// An error before it left this command out.
    case leftOut
    case failed
  }

  var kind: Kind {
    switch unsafe PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE: .rows
    case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .done
    case PGRES_COPY_IN: .copying
    case PGRES_PIPELINE_SYNC: .sync
    case PGRES_PIPELINE_ABORTED: .leftOut
    default: .failed
    }
  }

  /// The error that the answer is; nil where it is none.
  func error(sql: String) -> DatabaseError? {
    guard kind == .failed || kind == .leftOut else { return nil }
    let state = field(UnicodeScalar("C"))
    var message = field(UnicodeScalar("M")) ?? "the server has left this out"
    // The table and the line of a row that is copied.
    if let context = field(UnicodeScalar("W")), context.hasPrefix("COPY ") {
      message += " (\(context.prefix { $0 != ":" && !$0.isNewline }))"
    }
    // A connection that was lost is an answer without a state.
    guard let state else { return DatabaseError(.unavailable, state: "08006", message, sql: sql) }
    return ServerFailure.error(state: state, message: message, sql: sql)
  }

  private func field(_ code: UnicodeScalar) -> String? {
    unsafe PQresultErrorField(result, Int32(code.value)).map { unsafe String(cString: $0) }
  }

  /// The command that was run, `COMMIT`, and how many rows it changed.
  var command: String { unsafe PQcmdStatus(result).map { unsafe String(cString: $0) } ?? "" }
  var changedRows: Int { unsafe PQcmdTuples(result).flatMap { unsafe Int(String(cString: $0)) } ?? 0 }

  var count: Int { Int(unsafe PQntuples(result)) }

  var columns: [String] {
    let count = unsafe PQnfields(result)
    return (0..<count).map { index in
      unsafe PQfname(result, index).map { unsafe String(cString: $0) } ?? ""
    }
  }

  /// The values of a row. Throws ``DatabaseError`` `unexpectedValue` for a type that no table of ours has.
  func values(ofRow row: Int, sql: String) throws(DatabaseError) -> [SQLValue] {
    var values: [SQLValue] = []
    let count = unsafe PQnfields(result)
    for column in 0..<count {
      values.append(try value(Int32(row), column, sql: sql))
    }
    return values
  }

  private func value(_ row: Int32, _ column: Int32, sql: String) throws(DatabaseError) -> SQLValue {
    if unsafe PQgetisnull(result, row, column) == 1 { return .null }
    let type = unsafe PQftype(result, column)
    let count = Int(unsafe PQgetlength(result, row, column))
    let value: SQLValue? = unsafe PQgetvalue(result, row, column).flatMap { start in
      unsafe start.withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
        SQLValue(binary: unsafe Span(_unsafeStart: bytes, count: count), type: type)
      }
    }
    guard let value else {
      throw DatabaseError(.unexpectedValue, "a column of type \(type) cannot be read", sql: sql)
    }
    return value
  }

  /// The values of all rows. Throws as ``values(ofRow:sql:)`` does.
  func rows(sql: String) throws(DatabaseError) -> [[SQLValue]] {
    var rows: [[SQLValue]] = []
    for row in 0..<count { rows.append(try values(ofRow: row, sql: sql)) }
    return rows
  }

  /// The rows of an answer in text form.
  var textRows: [[String?]] {
    let columns = unsafe PQnfields(result)
    return (0..<Int32(count)).map { row in
      (0..<columns).map { column in
        unsafe PQgetisnull(result, row, column) == 1
          ? nil : unsafe PQgetvalue(result, row, column).map { unsafe String(cString: $0) }
      }
    }
  }
}

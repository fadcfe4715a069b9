internal import CoreTypes
internal import Database

/// The statements of one body after another on one connection: begins with the first statement, sends several at once where none
/// is waited for between them, and ends with the commit. Lives on its connection's thread.
final class ServerSession: DatabaseSession {
  /// An answer that is on its way, in the order in which it will come.
  private enum Pending {
    case prepared(Prepared)
    case prefetched(PrefetchedReads.Read, sql: String)
    case done(sql: String)
    case sync
  }

  private static let capacity = 512

  let handle: ServerHandle
  private var statements: [String: Prepared] = [:]
  private var pending: [Pending] = []
  private var uses = 0
  private var kind = Kind.read
  private var locks: [DatabaseLock] = []
  private var isBegun = false
  /// The topics that the body changes.
  private var changed = ChangedTopics()
  /// The statements that come behind all others of the body.
  private var last: [(sql: String, values: [SQLValue])] = []
  private var prefetched = PrefetchedReads()
  /// The numbers that were asked for ahead. No statement of any body makes them others.
  private var reserved: [NumberedKey: PrefetchedReads.Read] = [:]
  /// How many parts that prefetch run, each within the one before.
  private var prefetches = 0
  private let checksPrefetched: Bool
  /// The first error of the server in this transaction: whatever the body makes of it, nothing more can be done in it.
  private(set) var failure: DatabaseError?
  /// The connection is of no use any more.
  private(set) var isDropped = false

  /// With `checksPrefetched` each answer that was prefetched is compared with one of the moment of its use.
  init(handle: ServerHandle, checksPrefetched: Bool = false) {
    self.handle = handle
    self.checksPrefetched = checksPrefetched
  }

  /// A transaction begins with its first statement.
  func begin(_ kind: Kind, locking locks: [DatabaseLock]) {
    self.kind = kind
    self.locks = locks
    isBegun = false
    failure = nil
    changed = ChangedTopics()
    last = []
    prefetched = PrefetchedReads()
    reserved = [:]
  }

  /// Sends the last statements and the commit, and waits for it. Returns how often each changed topic has been changed. Throws
  /// ``DatabaseError``; where the connection was lost after the commit had been sent, ``CommitInDoubt``.
  func commit(marking mark: CommitMark?) throws -> [ChangeTopic: Int] {
    guard isBegun || !changed.isEmpty || !last.isEmpty else { return [:] }
    if let failure { throw failure }
    for statement in last { try enqueue(statement.sql, statement.values) }
    var revisions: [ChangeTopic: Int] = [:]
    for (topic, names) in changed.inOrder {
      var revision = 0
      _ = try run(ChangedTopics.takeRevisionOn, [.text(topic.description)]) { row throws(DatabaseError) in
        revision = Int(try row.integer("revision"))
        return .end
      }
      revisions[topic] = revision
      let signal = ServerSignal(topic: topic, revision: revision, names: names)
      try enqueue("SELECT pg_notify('pullbox', ?)", [.text(signal.payload)])
    }
    if let mark { try enqueue(CommitMark.statement, mark.values) }
    try enqueue("COMMIT")
    do {
      try sync()
      try readPending()
    } catch {
      guard handle.isLost || error.code == .unavailable else { throw note(error) }
      throw CommitInDoubt(mark: mark, cause: error)
    }
    isBegun = false
    return revisions
  }

  /// The end of a transaction that has read: its answer is taken with the next one's.
  func endReading() throws(DatabaseError) {
    guard isBegun else { return }
    try enqueue("COMMIT")
    try sync()
    isBegun = false
  }

  /// Undoes the transaction. Where that cannot be said, the connection is lost, and the server undoes it.
  func rollBack() {
    guard isBegun, !handle.isLost else { return }
    isBegun = false
    failure = nil
    do {
      _ = try send("ROLLBACK", [])
      try sync()
      try readPending()
    } catch {
      isDropped = true
    }
  }

  /// Forgets the statements that were prepared: the server has forgotten them, or made them for tables that are others now.
  func forgetStatements() {
    statements = [:]
  }

  /// Waits for the answers of all that was sent, and leaves the transaction open: then statements may run outside of the pipeline.
  func settle() throws(DatabaseError) {
    try beginIfNeeded()
    do {
      try sync()
      try readPending()
    } catch { throw note(error) }
  }

  // MARK: DatabaseSession

  func enqueue(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) {
    guard prefetches == 0 else { throw PrefetchedReads.refusal(of: sql) }
    try beginIfNeeded()
    _ = try send(sql, values)
  }

  func enqueueLast(_ sql: String, _ values: [SQLValue]) throws(DatabaseError) {
    guard prefetches == 0 else { throw PrefetchedReads.refusal(of: sql) }
    last.append((sql, values))
  }

  func run(
    _ sql: String, _ values: [SQLValue], _ body: (Row) throws(DatabaseError) -> RowDemand
  ) throws(DatabaseError) -> Int {
    try beginIfNeeded()
    if prefetches > 0 {
      try prefetch(sql, values)
      return 0
    }
    do throws(DatabaseError) {
      // All reads of a body that reads see one state, and an answer serves any number of them.
      if let known = kind == .read ? prefetched.find(sql, values) : prefetched.take(sql, values) {
        let answer = try answer(of: known)
        if checksPrefetched { try check(answer, against: sql, values) }
        return try readRows(of: answer, to: known.prepared, sql: sql, body)
      }
      let prepared = try send(sql, values)
      // Its answer is read here, after those of all before it.
      pending.removeLast()
      try flushAll()
      return try readRows(of: try readOne(sql: sql), to: prepared, sql: sql, body)
    } catch {
      throw note(error)
    }
  }

  func beginPrefetch() { prefetches += 1 }

  func endPrefetch() { prefetches -= 1 }

  private func prefetch(_ sql: String, _ values: [SQLValue]) throws(DatabaseError) {
    guard !prefetched.contains(sql, values) else { return }
    do throws(DatabaseError) {
      let prepared = try prepared(sql)
      guard prepared.translation.effect == .none else { throw PrefetchedReads.refusal(of: sql) }
      prefetched.add(try sendAhead(sql, values), of: sql, values)
    } catch {
      throw note(error)
    }
  }

  func reserveNumber(for key: NumberedKey) throws(DatabaseError) {
    guard reserved[key] == nil else { return }
    try beginIfNeeded()
    do throws(DatabaseError) {
      reserved[key] = try sendAhead(key.nextNumber, [])
    } catch { throw note(error) }
  }

  func takeNumber(for key: NumberedKey) throws(DatabaseError) -> Int64 {
    guard prefetches == 0 else { throw PrefetchedReads.refusal(of: "INSERT INTO \(key.table)") }
    try reserveNumber(for: key)
    do throws(DatabaseError) {
      let values = try reserved.removeValue(forKey: key).map { read throws(DatabaseError) in
        try answer(of: read).values(ofRow: 0, sql: key.nextNumber)
      }
      guard case .integer(let number)? = values?.first else { throw handle.lost("a number is missing") }
      return number
    } catch { throw note(error) }
  }

  /// Sends a read for whose answer its user waits.
  private func sendAhead(
    _ sql: String, _ values: [SQLValue]
  ) throws(DatabaseError) -> PrefetchedReads.Read {
    let read = PrefetchedReads.Read(prepared: try send(sql, values))
    pending.removeLast()
    pending.append(.prefetched(read, sql: sql))
    return read
  }

  private func answer(of read: PrefetchedReads.Read) throws(DatabaseError) -> ServerAnswer {
    if read.answer == nil { try flushAll() }
    guard let answer = read.answer else { throw handle.lost("an answer is missing") }
    return answer
  }

  /// Traps where the rows are others by now: then the body has decided by what its locks do not hold still, and an error may be passed
  /// over.
  private func check(
    _ answer: ServerAnswer, against sql: String, _ values: [SQLValue]
  ) throws(DatabaseError) {
    _ = try send(sql, values)
    pending.removeLast()
    try flushAll()
    let now = try readOne(sql: sql)
    let isSame = try now.rows(sql: sql) == answer.rows(sql: sql)
    precondition(isSame, "what was prefetched is not what there is: \(sql)")
  }

  func execute(script: String) throws(DatabaseError) {
    preconditionFailure("schemas are changed outside of bodies here")
  }

  func noteChange(of topic: ChangeTopic, names: Set<String>) {
    if prefetches == 0 { changed.note(topic, names: names) }
  }

  func lock(_ lock: DatabaseLock) throws(DatabaseError) {
    // What was read before it may be outdated once it is held.
    prefetched = PrefetchedReads()
    try enqueue(lock.statement, [.integer(lock.key)])
  }

  // MARK: sending

  private func beginIfNeeded() throws(DatabaseError) {
    if let failure { throw failure }
    guard !isBegun else { return }
    isBegun = true
    do {
      _ = try send(kind.begin, [])
      if !locks.isEmpty {
        let taken = LockStatement(locks)
        _ = try send(taken.sql, taken.values)
      }
    } catch { throw note(error) }
  }

  private func send(_ sql: String, _ values: [SQLValue]) throws(DatabaseError) -> Prepared {
    let prepared = try prepared(sql)
    guard values.count == prepared.translation.parameterCount else {
      throw DatabaseError(
        .misuse, "\(values.count) values for \(prepared.translation.parameterCount) places", sql: sql)
    }
    try handle.sendExecute(prepared.name, values)
    pending.append(.done(sql: sql))
    prefetched.drop(whatChangesBy: prepared.translation.effect)
    return prepared
  }

  private func prepared(_ sql: String) throws(DatabaseError) -> Prepared {
    uses += 1
    if let known = statements[sql] {
      known.lastUse = uses
      return known
    }
    if statements.count >= Self.capacity,
      let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      statements[oldest.key] = nil
      try sendUnprepared("DEALLOCATE \(oldest.value.name)")
    }
    let new = Prepared(name: "s\(uses)", translation: StatementTranslation(sql))
    new.lastUse = uses
    try handle.sendPrepare(new.name, new.translation.sql)
    statements[sql] = new
    pending.append(.prepared(new))
    return new
  }

  /// A statement that is run once: its own preparation has no name.
  private func sendUnprepared(_ sql: String) throws(DatabaseError) {
    try handle.sendPrepare("", sql)
    pending.append(.done(sql: sql))
    try handle.sendExecute("", [])
    pending.append(.done(sql: sql))
  }

  private func sync() throws(DatabaseError) {
    try handle.sendSync()
    pending.append(.sync)
    try handle.flush()
  }

  private func flushAll() throws(DatabaseError) {
    try handle.sendFlushRequest()
    try handle.flush()
    try readPending()
  }

  // MARK: answers

  private func readPending() throws(DatabaseError) {
    let expected = pending
    pending = []
    for (index, answer) in expected.enumerated() {
      do {
        try read(answer)
      } catch {
        pending = Array(expected[(index + 1)...])
        throw error
      }
    }
  }

  private func read(_ expected: Pending) throws(DatabaseError) {
    switch expected {
    case .sync:
      guard let answer = try handle.next(), answer.kind == .sync else {
        throw handle.lost("answers came in another order")
      }
    case .prepared(let prepared):
      guard try readOne(sql: prepared.translation.sql).isPrepared else { throw handle.lost("another answer") }
      prepared.isConfirmed = true
    case .prefetched(let asked, let sql): asked.answer = try readOne(sql: sql)
    case .done(let sql):
      let answer = try readOne(sql: sql)
      // A transaction that had failed ends so.
      if sql == "COMMIT", answer.command == "ROLLBACK" {
        throw DatabaseError(.other, "the server rolled the transaction back", sql: sql)
      }
    }
  }

  @discardableResult
  private func readOne(sql: String) throws(DatabaseError) -> ServerAnswer {
    guard let answer = try handle.next(), answer.mayBeLast else { throw handle.lost("an answer is missing") }
    // Behind each command's answer there is its end.
    guard try handle.next() == nil else { throw handle.lost("a statement has two answers") }
    if let error = answer.error(sql: sql) { throw error }
    return answer
  }

  private func readRows(
    of answer: ServerAnswer, to prepared: Prepared, sql: String,
    _ body: (Row) throws(DatabaseError) -> RowDemand
  ) throws(DatabaseError) -> Int {
    guard answer.kind == .rows else { return answer.changedRows }
    let columns = prepared.columns ?? answer.columns
    prepared.columns = columns
    for index in 0..<answer.count {
      if try body(Row(columns: columns, values: try answer.values(ofRow: index, sql: sql))) == .end { break }
    }
    return answer.changedRows
  }

  /// Keeps the first error of the server, reads the answers of what was sent behind the statement that failed, and lets statements
  /// that were to be prepared be prepared again.
  private func note(_ error: DatabaseError) -> DatabaseError {
    guard !error.state.isEmpty else { return error }
    if failure == nil { failure = error }
    guard !handle.isLost, error.code != .unavailable else {
      isDropped = true
      return error
    }
    do {
      try handle.sendSync()
      try handle.flush()
      try skipToSync()
    } catch {
      isDropped = true
    }
    pending = []
    prefetched = PrefetchedReads()
    reserved = [:]
    statements = statements.filter(\.value.isConfirmed)
    return error
  }

  /// Reads answers up to the last sync that was sent.
  private func skipToSync() throws(DatabaseError) {
    var syncs = 1 + pending.count { if case .sync = $0 { true } else { false } }
    var ends = 0
    while syncs > 0 {
      guard let answer = try handle.next() else {
        // Two ends in a row, and nothing more: answers are missing.
        ends += 1
        guard ends < 1_000_000 else { throw handle.lost("answers are missing") }
        continue
      }
      ends = 0
      if answer.kind == .sync { syncs -= 1 }
    }
  }
}

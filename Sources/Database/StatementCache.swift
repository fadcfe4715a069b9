/// The statements used last, by their text.
struct StatementCache {
  private var statements: [String: Statement] = [:]
  /// The least recently used first.
  private var order: [String] = []
  private let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// The statement for `sql`, ready to run. One that is already running (a body asks the question it is answering) is not
  /// disturbed: the caller gets a second one.
  mutating func statement(
    for sql: String, _ prepare: (String) throws(DatabaseError) -> Statement
  ) throws(DatabaseError) -> Statement {
    if let cached = statements[sql] {
      if cached.isInUse { return try prepare(sql) }
      touch(sql)
      return cached
    }
    let statement = try prepare(sql)
    statements[sql] = statement
    order.append(sql)
    if order.count > capacity { statements[order.removeFirst()] = nil }
    return statement
  }

  mutating func removeAll() {
    statements = [:]
    order = []
  }

  var count: Int { statements.count }

  /// The least recently used first.
  var texts: [String] { order }

  private mutating func touch(_ sql: String) {
    guard order.last != sql, let index = order.firstIndex(of: sql) else { return }
    order.append(order.remove(at: index))
  }
}

extension ConnectionHandle {
  enum TransactionKind: String {
    /// Sees one state of the database from its first statement to its last.
    case read = "BEGIN"
    /// Takes the write lock at once, so that it cannot fail half-way for want of it.
    case write = "BEGIN IMMEDIATE"
  }

  /// Commits when `body` returns; rolls back when it throws or the commit does.
  func transaction<Value>(
    _ kind: TransactionKind, _ body: (borrowing Connection) throws -> Value
  ) throws -> Value {
    try run(kind.rawValue)
    do {
      let value = try body(Connection(self, mayWrite: kind == .write))
      try run("COMMIT")
      return value
    } catch {
      // Some errors (a full disk, a failing one) have rolled back already. If this fails as well, the first error is
      // the one that explains, and the next BEGIN reports a transaction that is still open.
      if isInTransaction { try? run("ROLLBACK") }
      throw error
    }
  }

  private func run(_ sql: String) throws(DatabaseError) {
    try statement(for: sql).run([], { _ throws(DatabaseError) in }, orThrow: { $0 })
  }
}

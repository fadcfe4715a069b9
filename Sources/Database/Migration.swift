/// One step from a database's schema to the next. Its place in the list given to
/// ``Database/open(path:migrations:options:)`` is its version: released migrations are never changed, moved
/// or removed, new ones are appended.
public struct Migration: Sendable {
  /// The name of the step, which tells readers of the code what it adds.
  public let name: String
  let body: @Sendable (borrowing Connection) throws -> Void

  /// A step that takes more than SQL. `body` runs in the transaction that also records its version.
  public init(_ name: String, _ body: @escaping @Sendable (borrowing Connection) throws -> Void) {
    self.name = name
    self.body = body
  }

  /// `script` holds any number of statements.
  public init(_ name: String, script: String) {
    self.init(name) { connection in try connection.execute(script: script) }
  }
}

extension ConnectionHandle {
  /// Brings the schema to `migrations.count`, each step in a transaction of its own.
  func migrate(_ migrations: [Migration]) throws {
    while true {
      let isDone = try transaction(.write) { connection in
        let version = try connection.schemaVersion()
        guard version <= migrations.count else {
          throw DatabaseError(
            .newerSchema, "its version is \(version), this program knows \(migrations.count)")
        }
        guard version < migrations.count else { return true }
        try migrations[version].body(connection)
        // A pragma takes no bound value; this one is a number of ours.
        try connection.execute("PRAGMA user_version = \(version + 1)")
        return false
      }
      if isDone { return }
    }
  }
}

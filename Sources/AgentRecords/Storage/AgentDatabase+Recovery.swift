package import CoreTypes
package import Database
package import Files
package import ServiceRuntime
package import SystemCalls

extension AgentDatabase {
  /// SQLite's code of a file that ends within a page.
  private static let shortRead: Int32 = 522

  /// The records at `path`, and whether they are new because what was there is damaged: that is moved aside, to a name
  /// that ends with `.damaged-` and the time, and an error is logged. Reads the whole file. Blocks. Throws what
  /// `Database.open` throws for any other reason.
  package static func open(
    _ path: String, log: Log, at time: Timestamp, operations: any FileOperations = SystemFileOperations()
  ) throws -> (database: AgentDatabase, isNewAfterDamage: Bool) {
    let damage: any Error
    do {
      let database = try AgentDatabase(path: path, log: log)
      guard let finding = try database.finding() else {
        return (database, false)
      }
      database.close()
      damage = finding
    } catch let error as DatabaseError where error.code == .corrupt || error.extendedCode == shortRead {
      damage = error
    }
    let aside = try setAside(path, "damaged", at: time, operations)
    log.error(
      "the agent's records are damaged; they are made anew from the library and the store",
      ["error": LogValue(damage), "kept": LogValue(aside)])
    return (try AgentDatabase(path: path, log: log), true)
  }

  /// Gives the file at `path`, and what SQLite keeps beside it, names that end with `.`, `word`, `-` and the time. Returns
  /// the file's new path. What is not there is no error. Blocks.
  @discardableResult
  package static func setAside(
    _ path: String, _ word: String, at time: Timestamp,
    _ operations: any FileOperations = SystemFileOperations()
  ) throws(SystemError) -> String {
    let aside = "\(path).\(word)-\(time.compactText)"
    for companion in ["", "-wal", "-shm"] where try operations.status(of: path + companion) != nil {
      try operations.rename(path + companion, to: aside + companion)
    }
    try operations.synchronizeDirectory(FileSystem.parent(of: path))
    return aside
  }

  /// Whether a database that was used lies at `path`; one that is missing or empty is started as new. Blocks.
  package static func isUsed(
    _ path: String, _ operations: any FileOperations = SystemFileOperations()
  ) throws(SystemError) -> Bool {
    guard let status = try operations.status(of: path) else { return false }
    return status.length > .zero
  }

  /// Whether the database at `path` knows of no library and of nothing that was bought: an agent writes these down only once the device
  /// has its name and key. Makes the file where there is none. False where it cannot be read. Blocks. Throws what `Database.open` throws.
  package static func isBlank(_ path: String) throws -> Bool {
    do {
      let records = try AgentDatabase(path: path)
      defer { records.close() }
      return try records.database.readBlocking { connection in
        try connection.first(
          """
          SELECT 1 FROM library_volume UNION ALL SELECT 1 FROM library UNION ALL SELECT 1 FROM downloads
          UNION ALL SELECT 1 FROM transactions LIMIT 1
          """) == nil
      }
    } catch let error as DatabaseError where error.code == .corrupt || error.extendedCode == shortRead {
      return false
    }
  }

  /// Why the file is damaged; nil where it is whole.
  private func finding() throws -> (any Error)? {
    do {
      let text = try database.readBlocking { connection in
        try connection.first("PRAGMA quick_check(1)")?.text("quick_check")
      }
      guard let text, text != "ok" else { return nil }
      return StateDirectoryError(.damaged, path: "agent.sqlite", message: text)
    } catch let error as DatabaseError where error.code == .corrupt || error.extendedCode == Self.shortRead {
      return error
    }
  }

  /// A statement that takes a record out, or makes up for it, with its values.
  package typealias Amendment = (sql: String, values: [SQLValue])

  /// Returns the values that `decode` makes of the rows that `query` answers. A row that it cannot read is logged, and
  /// the statements of `dropping` remove it; the other rows are read. Throws what reading throws.
  package func records<Value: Sendable>(
    _ query: String, _ parameters: [SQLValue] = [],
    dropping amendments: @escaping @Sendable (Row) throws -> [Amendment],
    _ decode: @escaping @Sendable (Row) throws -> Value
  ) throws -> [Value] {
    let found = try database.readBlocking { connection in
      var values: [Value] = []
      var bad: [(amendments: [Amendment], error: String)] = []
      try connection.forEach(query, parameters) { row in
        do {
          values.append(try decode(row))
        } catch {
          bad.append((try amendments(row), "\(error)"))
        }
      }
      return (values: values, bad: bad)
    }
    for row in found.bad {
      log.error(
        "a record cannot be read and is dropped",
        ["record": LogValue("\(row.amendments.first?.values ?? [])"), "error": LogValue(row.error)])
      let amendments = row.amendments
      do {
        try makingRoom {
          try database.writeBlocking(locking: [.everything]) { connection in
            for amendment in amendments { try connection.execute(amendment.sql, amendment.values) }
          }
        }
      } catch {
        // It is met again with the next reading, and left out again.
        log.error("a record cannot be dropped", ["error": LogValue(error)])
      }
    }
    return found.values
  }

  /// Lets every download that is not over ask for its grant again: the grants it has name an identity that is gone.
  package func forgetGrants() throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        UPDATE downloads SET phase = 'grant'
        WHERE state NOT IN ('finished', 'cancelled')
        """)
      try connection.execute("DELETE FROM product_grants")
    }
  }
}

internal import Database

/// The tables of a database on PostgreSQL: all of one version by one script, and what later versions add.
public struct SchemaDefinition: Sendable {
  /// One step from a version to the next: it adds, and takes nothing from nodes of the version before.
  public struct Step: Sendable {
    /// The tables or columns that the step adds.
    public let name: String
    /// Any number of statements.
    public let script: String

    /// A step by its name and its statements.
    public init(name: String, script: String) {
      self.name = name
      self.script = script
    }
  }

  /// The version that the script makes: the number of migrations that a file of SQLite of the same tables has seen.
  public let version: Int
  /// Makes all tables of that version in an empty schema.
  public let script: String
  /// The steps behind it, the first to `version + 1`.
  public let steps: [Step]

  /// The version that tables have once they are up to date.
  public var latest: Int { version + steps.count }

  /// The tables of a version, and the steps behind it.
  public init(version: Int, script: String, steps: [Step] = []) {
    self.version = version
    self.script = script
    self.steps = steps
  }
}

/// The checks of a server and the upgrade of its tables, all of them before the first body runs.
extension ServerHandle {
  /// Refuses a server that is too old, has another encoding than UTF-8, or is a pooler that gives a connection another backend for each
  /// transaction. The probe is a setting of this connection: where `other` sees it, both have the same backend. Throws
  /// ``DatabaseError`` `cannotOpen`.
  func checkServer(other: ServerHandle) throws(DatabaseError) {
    guard version >= 150_000 else {
      throw DatabaseError(.cannotOpen, "PostgreSQL 15 or later is needed, not \(version / 10_000)", sql: "")
    }
    let encoding = try executeAlone("SHOW server_encoding").first?.first.flatMap { $0 }
    guard encoding == "UTF8" else {
      throw DatabaseError(
        .cannotOpen, "the database has the encoding \(encoding ?? "?"), UTF8 is needed", sql: "")
    }
    // A setting of one connection that another one sees.
    _ = try executeAlone("SET pullbox.probe = 'seen'")
    let seen = try other.executeAlone("SELECT current_setting('pullbox.probe', true)").first?.first.flatMap {
      $0
    }
    guard seen?.isEmpty ?? true else {
      throw DatabaseError(
        .cannotOpen,
        "a pooler in transaction mode stands before the database; sessions are needed (pool_mode = session)",
        sql: "")
    }
    _ = try executeAlone("RESET pullbox.probe")
  }

  /// Brings the tables up to date; several nodes that start at the same moment do so one after the other. The tables of the engine
  /// are there then. An advisory lock of the session keeps the others out. Throws ``DatabaseError`` `newerSchema` for a
  /// version above ``SchemaDefinition/latest``, or below the first one.
  func apply(_ schema: SchemaDefinition) throws(DatabaseError) {
    _ = try executeAlone("SELECT pg_advisory_lock(hashtext('pullbox schema'))")
    defer { _ = try? executeAlone("SELECT pg_advisory_unlock(hashtext('pullbox schema'))") }
    let latest = schema.latest
    _ = try executeAlone(Self.ownTables)
    guard let found = try schemaVersion() else {
      return try inTransaction(
        "\(schema.script);\n\(Self.record(schema.version))\n\(steps(of: schema, after: schema.version))")
    }
    guard found <= latest else {
      throw DatabaseError(.newerSchema, "its version is \(found), this program knows \(latest)", sql: "")
    }
    guard found >= schema.version else {
      throw DatabaseError(
        .newerSchema, "its version is \(found), which no released program has made", sql: "")
    }
    if found < latest { try inTransaction(steps(of: schema, after: found)) }
  }

  /// The version of the tables; nil where there are none.
  func schemaVersion() throws(DatabaseError) -> Int? {
    guard try isTable("schema_version") else { return nil }
    return try executeAlone("SELECT max(version) FROM schema_version").first?.first.flatMap { $0 }
      .flatMap { Int($0) }
  }

  /// Whether the schema has a table of that name, which is one of ours.
  func isTable(_ name: String) throws(DatabaseError) -> Bool {
    try executeAlone("SELECT to_regclass(format('%I.%I', current_schema(), '\(name)')) IS NOT NULL").first?
      .first == "t"
  }

  /// The statements from that version to the latest, each step followed by the record of its version.
  private func steps(of schema: SchemaDefinition, after version: Int) -> String {
    schema.steps.enumerated().dropFirst(version - schema.version).map { index, step in
      "\(step.script);\n\(Self.record(schema.version + index + 1))"
    }.joined(separator: "\n")
  }

  /// The statement that notes a version as applied.
  private static func record(_ version: Int) -> String {
    "INSERT INTO schema_version (version) VALUES (\(version));"
  }

  /// Runs the script as one transaction. Undoes it when a statement fails, and throws that statement's error.
  private func inTransaction(_ script: String) throws(DatabaseError) {
    do {
      _ = try executeAlone("BEGIN;\n\(script)\nCOMMIT")
    } catch {
      _ = try? executeAlone("ROLLBACK")
      throw error
    }
  }

  /// The tables of the engine itself.
  private static let ownTables = """
    SET client_min_messages = warning;
    CREATE TABLE IF NOT EXISTS schema_version (
      version BIGINT PRIMARY KEY, applied TIMESTAMPTZ NOT NULL DEFAULT now());
    CREATE TABLE IF NOT EXISTS commit_marks (
      id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number BIGINT NOT NULL,
      closed BOOLEAN NOT NULL DEFAULT false, written TIMESTAMPTZ NOT NULL DEFAULT now()) WITH (fillfactor = 50);
    CREATE TABLE IF NOT EXISTS signals (
      topic TEXT COLLATE "C" PRIMARY KEY, revision BIGINT NOT NULL) WITH (fillfactor = 50);
    \(MoveMark.table)
    RESET client_min_messages
    """
}

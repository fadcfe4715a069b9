import Commerce
import CoreTypes
package import Database
import PullboxAPI
package import ServiceRuntime

/// The agent's records in SQLite: transactions, downloads, the library, publishers' keys
/// (docs/formats/agent-state.md). Every call blocks and returns with the change on the device: call it on
/// threads of our own, not on the cooperative pool.
package struct AgentDatabase: Sendable {
  package let database: Database
  package let log: Log

  /// Throws what `Database.open` throws. ``open(_:log:at:)`` also goes on where the file is damaged.
  package init(path: String, log: Log = Log()) throws {
    var options = Database.Options.small
    // So that what makes room can be written down on a full disk.
    options.reserve = .mebibytes(1)
    database = try Database.open(path: path, migrations: Self.migrations, options: options)
    self.log = log
  }

  /// To be called after the last use.
  package func close() {
    database.close()
  }

  /// Runs `body` and returns its result. With `makesRoom`, it may use the reserve, so that it succeeds on a full disk as
  /// well.
  package func makingRoom<Value>(_ makesRoom: Bool = true, _ body: () throws -> Value) throws -> Value {
    makesRoom ? try database.usingReserveBlocking(body) : try body()
  }

  /// Keeps room for ``makingRoom(_:_:)`` again, where it was used up and the disk has enough. Blocks for a moment.
  package func renewReserve() { database.renewReserve() }

  /// The schema, step by step, in the order in which the steps are applied.
  static let migrations = [
    Migration(
      "transactions, downloads, library",
      script: """
        CREATE TABLE transactions (
          id TEXT PRIMARY KEY,
          product TEXT NOT NULL,
          store_state TEXT NOT NULL,
          step TEXT NOT NULL,
          reason TEXT,
          problem TEXT,
          tries INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE downloads (
          sequence INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL UNIQUE,
          transaction_id TEXT NOT NULL,
          product TEXT NOT NULL,
          phase TEXT NOT NULL,
          state TEXT NOT NULL,
          reason TEXT NOT NULL,
          problem TEXT,
          failures INTEGER NOT NULL,
          renewals INTEGER NOT NULL,
          priority INTEGER NOT NULL,
          grant_id TEXT,
          terms TEXT,
          bytes_verified INTEGER NOT NULL,
          bytes_received INTEGER NOT NULL,
          placed_at INTEGER,
          content_path TEXT
        ) STRICT;
        CREATE INDEX downloads_by_transaction ON downloads (transaction_id);

        CREATE TABLE library (
          product TEXT NOT NULL,
          version TEXT NOT NULL,
          path TEXT NOT NULL,
          digest TEXT NOT NULL,
          length INTEGER NOT NULL,
          placed_at INTEGER NOT NULL,
          title TEXT,
          PRIMARY KEY (product, version)
        ) STRICT, WITHOUT ROWID;
        """),
    Migration(
      "publishers' keys",
      script: """
        CREATE TABLE publisher_keys (
          product TEXT NOT NULL,
          key_id TEXT NOT NULL,
          PRIMARY KEY (product, key_id)
        ) STRICT, WITHOUT ROWID;
        """),
    Migration(
      "manifests of what is placed", script: "ALTER TABLE library ADD COLUMN manifest BLOB;"),
    splitDownloads,
    transactionHistory,
    placedContent,
    services,
    losses,
    feed,
    rollbacks,
    offers,
    arrivals,
    listings,
    ownership,
    urgency,
    budget,
    contentSections,
    sessions,
    publications,
    reading,
    goneBack,
    readingExchange,
    ignoredConditions,
    licenses,
    retiredLicenseKeys,
  ]

  private static let urgency = Migration(
    "how urgently downloads are wanted",
    script: "ALTER TABLE downloads ADD COLUMN urgency TEXT NOT NULL DEFAULT 'normal';")

  private static let sessions = Migration(
    "the apps that asked",
    script: """
      ALTER TABLE transactions ADD COLUMN session TEXT;
      ALTER TABLE downloads ADD COLUMN session TEXT;
      """)

  /// The columns for the checks of placed content, and the table with the library's identifier.
  private static let placedContent = Migration(
    "checks of what is placed",
    script: """
      ALTER TABLE library ADD COLUMN manifest_digest TEXT;
      ALTER TABLE library ADD COLUMN size_on_disk INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE library ADD COLUMN last_opened INTEGER;
      ALTER TABLE library ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE library ADD COLUMN damaged INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE library ADD COLUMN stamps BLOB;
      UPDATE library SET size_on_disk = length;
      CREATE TABLE library_volume (id TEXT) STRICT;
      """)

  /// A value as JSON text, which people can read in the file.
  package static func text(_ value: some Encodable) throws -> String {
    String(decoding: try APIJSON.encode(value), as: UTF8.self)
  }

  /// Nil for nil. Throws `DecodingError` for a text that is no such value.
  package static func value<Value: Decodable>(_ type: Value.Type, _ text: String?) throws -> Value? {
    guard let text else { return nil }
    return try APIJSON.decode(type, from: Array(text.utf8))
  }

  /// A value that a column must hold; anything else means that another program changed the file.
  static func require<Value>(_ value: Value?, _ column: String) throws -> Value {
    guard let value else {
      throw StateDirectoryError(.damaged, path: "agent.sqlite", message: "\(column) is not readable")
    }
    return value
  }
}

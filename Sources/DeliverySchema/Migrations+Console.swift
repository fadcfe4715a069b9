import Database

extension Migrations {
  /// Adds the sessions of operators in a browser.
  static let consoleSessions = Migration(
    "the sessions of the console",
    script: """
      -- digest: of the secret that the browser has. key_digest: of the operator key that it was begun with, and ends with.
      CREATE TABLE console_sessions (
        digest BLOB PRIMARY KEY,
        key_digest BLOB NOT NULL,
        language TEXT NOT NULL,
        created INTEGER NOT NULL,
        used INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX console_sessions_by_age ON console_sessions (created);
      CREATE INDEX console_sessions_by_use ON console_sessions (used);
      """)
}

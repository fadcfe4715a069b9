import Database

extension Migrations {
  /// Adds the keys of applications for reading.
  static let readerKeys = Migration(
    "readers' keys",
    script: """
      -- What an application for reading shows in place of a proof. device: the customer's device that the key counts as; digest: the
      -- SHA-256 of its password; used: when it was shown last, to an hour; NULL while it never was.
      CREATE TABLE reader_keys (
        name TEXT PRIMARY KEY,
        customer BLOB NOT NULL,
        device TEXT NOT NULL,
        title TEXT NOT NULL,
        digest BLOB NOT NULL,
        territory TEXT,
        locale TEXT,
        created INTEGER NOT NULL,
        used INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX reader_keys_by_customer ON reader_keys (customer, created);
      """)

  /// Gives the grants of readers' keys a state of their own, `reading`: no report is expected of them. A grant without a public key on the
  /// device of a key is one of those.
  static let readersGrants = Migration(
    "grants of readers' keys",
    script: """
      INSERT INTO counters (name, value)
      SELECT 'grants ' || column1, 0
      FROM (VALUES ('Production reading'), ('Production revoked/reading'), ('Sandbox reading'), ('Sandbox revoked/reading'));
      UPDATE grants SET state = 'reading'
      WHERE device IN (SELECT device FROM reader_keys) AND state = 'granted' AND public_key IS NULL;
      UPDATE grants SET state = 'revoked/reading'
      WHERE device IN (SELECT device FROM reader_keys) AND state = 'revoked/granted' AND public_key IS NULL;
      """)
}

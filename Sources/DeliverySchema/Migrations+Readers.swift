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
}

import Database

extension Migrations {
  /// Adds the keys that licenses are signed with.
  static let licenseKeys = Migration(
    "license keys",
    script: """
      -- The keys that licenses are signed with, of all servers of the database. secret: NULL once no license is signed with it any more;
      -- seals: from when on; endorsement: the word of the key before, by which devices go on to this one.
      CREATE TABLE license_keys (
        number INTEGER PRIMARY KEY,
        public_key BLOB NOT NULL,
        secret BLOB,
        seals INTEGER NOT NULL,
        endorsement TEXT
      ) STRICT, WITHOUT ROWID;
      """)
}

import Database

extension Schema {
  static let signatures = Migration(
    "publishers' signatures of manifests",
    script: """
      CREATE TABLE version_signatures (
        product TEXT NOT NULL,
        version TEXT NOT NULL,
        key_id TEXT NOT NULL,
        public_key BLOB NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (product, version, key_id),
        FOREIGN KEY (product, version) REFERENCES versions (product, version) ON DELETE CASCADE
      ) STRICT, WITHOUT ROWID;
      """)
}

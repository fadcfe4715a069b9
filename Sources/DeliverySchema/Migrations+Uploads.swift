import Database

extension Migrations {
  /// Adds the parts of uploads.
  static let uploadParts = Migration(
    "parts of uploads",
    script: """
      -- What counts as received of uploads that any server goes on with. name: its object in the store.
      CREATE TABLE upload_parts (
        upload TEXT NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
        start INTEGER NOT NULL,
        length INTEGER NOT NULL,
        digest BLOB NOT NULL,
        name TEXT NOT NULL,
        PRIMARY KEY (upload, start)
      ) STRICT, WITHOUT ROWID;

      -- Bytes that the upload may reach: they are kept for it by all servers. The only server of a file keeps them in memory.
      ALTER TABLE uploads ADD COLUMN reserved INTEGER;
      """)
}

import Database

extension Schema {
  static let stops = Migration(
    "revocations by source, stopped contents",
    script: """
      -- 'operator' or 'store' while the grant is revoked.
      ALTER TABLE grants ADD COLUMN revoked_by TEXT;
      UPDATE grants SET revoked_by = 'operator' WHERE state LIKE 'revoked/%';
      CREATE INDEX grants_revoked ON grants (id) WHERE revoked_by IS NOT NULL;

      -- Packages that are not sent any more, whatever tickets are out.
      CREATE TABLE content_stops (
        digest BLOB PRIMARY KEY,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)
}

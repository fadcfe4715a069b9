import Database

extension Schema {
  static let uploadsAndCollection = Migration(
    "ends and digests of uploads, blobs that nobody needs",
    script: """
      -- 1: a request that says so ends the upload, not its length alone.
      ALTER TABLE uploads ADD COLUMN awaits_end INTEGER NOT NULL DEFAULT 0;
      -- What the whole must add up to, where the client said so when it began.
      ALTER TABLE uploads ADD COLUMN whole_digest BLOB;

      -- Since when nobody needs a blob; it goes when the grace period has passed.
      CREATE TABLE unneeded_blobs (
        digest BLOB PRIMARY KEY,
        since INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)
}

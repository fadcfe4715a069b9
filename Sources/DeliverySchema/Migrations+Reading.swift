import Database

extension Migrations {
  /// Adds how far customers have read, and what KOReader's sync shows of a key.
  static let readingProgress = Migration(
    "how far customers have read",
    script: """
      -- The latest that any application of the customer's told of a product. modified: by its clock, and no later than it was heard of;
      -- page: counted from zero; millionths: how much was read; document: all that it told, as JSON.
      CREATE TABLE reading_progress (
        customer BLOB NOT NULL,
        product TEXT NOT NULL,
        modified INTEGER NOT NULL,
        device TEXT NOT NULL,
        page INTEGER,
        millionths INTEGER,
        document TEXT NOT NULL,
        PRIMARY KEY (customer, product)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX reading_progress_by_time ON reading_progress (customer, modified);
      -- The SHA-256 of the password's MD5 in hexadecimal digits; NULL of a key that was made before.
      ALTER TABLE reader_keys ADD COLUMN sync_digest BLOB;
      """)
}

import Database

extension Migrations {
  /// Adds when bytes were last sent for a grant.
  static let deliveryTimes = Migration(
    "when bytes were last sent for a grant",
    script: """
      -- When the node last wrote down that it had sent some; 0 for those of before.
      ALTER TABLE delivered_bytes ADD COLUMN last INTEGER NOT NULL DEFAULT 0;
      """)

  /// Adds what was sent in each hour.
  static let deliveredHours = Migration(
    "bytes sent by the hour",
    script: """
      -- Bytes of packages that each node sent in each hour, which is named by its first moment; node: 0 for the only server of a file.
      CREATE TABLE delivered_hours (
        hour INTEGER NOT NULL,
        node INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (hour, node)
      ) STRICT, WITHOUT ROWID;
      """)
}

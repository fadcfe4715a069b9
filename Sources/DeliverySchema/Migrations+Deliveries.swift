import Database

extension Migrations {
  /// Adds when bytes were last sent for a grant.
  static let deliveryTimes = Migration(
    "when bytes were last sent for a grant",
    script: """
      -- When the node last wrote down that it had sent some; 0 for those of before.
      ALTER TABLE delivered_bytes ADD COLUMN last INTEGER NOT NULL DEFAULT 0;
      """)
}

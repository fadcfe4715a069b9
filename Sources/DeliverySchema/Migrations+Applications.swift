import Database

extension Migrations {
  /// Adds to the ledger the purchases of applications themselves; transactions of before are none.
  static let applicationPurchases = Migration(
    "purchases of applications themselves",
    script: """
      -- The version in which the application was first bought, empty where it cannot be compared; NULL of what was sold in it.
      ALTER TABLE transactions ADD COLUMN origin TEXT;
      """)
}

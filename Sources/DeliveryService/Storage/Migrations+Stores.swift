import Database

/// What stores of several kinds are told, and by what.
extension Migrations {
  static let acknowledgements = Migration(
    "how stores are told of a delivery",
    script: """
      -- 'acknowledge' or 'consume', NULL where the store is told that the transaction is finished; what the store's client needs
      -- for it; and when the store takes back the purchase unless it was told, NULL once the store says that it was.
      ALTER TABLE transactions ADD COLUMN acknowledgement TEXT;
      ALTER TABLE transactions ADD COLUMN acknowledgement_reference TEXT
        CHECK (length(CAST(acknowledgement_reference AS BLOB)) <= 8192);
      ALTER TABLE transactions ADD COLUMN acknowledgement_due INTEGER;
      CREATE INDEX transactions_by_acknowledgement ON transactions (store, acknowledgement_due)
        WHERE acknowledgement_due IS NOT NULL;
      """)
}

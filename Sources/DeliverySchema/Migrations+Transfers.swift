import Database

extension Migrations {
  /// Adds the grants that ended by a transfer.
  static let transfers = Migration(
    "grants that ended with a transfer of their purchase",
    script: """
      -- Grants that were taken back because another application account claimed their purchase; decided is when. They stand again
      -- for an account that the purchase belongs to. One that an operator decided about since is the operator's.
      CREATE TABLE transferred_grants (
        grant_number INTEGER PRIMARY KEY REFERENCES grants (number) ON DELETE CASCADE,
        decided INTEGER NOT NULL
      ) STRICT;
      """)

  /// Adds to them the refunds that an operator had excused before.
  static let transferExcuses = Migration(
    "refunds that an operator had excused before a transfer",
    script: """
      -- The store's revocation that an operator had excused before the transfer: the excuse counts again with the grant.
      ALTER TABLE transferred_grants ADD COLUMN excuses INTEGER;
      CREATE INDEX transferred_grants_by_excuse ON transferred_grants (excuses) WHERE excuses IS NOT NULL;
      """)

  /// Adds the index by which the purchases that requests claim for one account are counted.
  static let claimsByAccount = Migration(
    "for whom requests claimed purchases",
    script: """
      CREATE INDEX purchase_claims_by_account ON purchase_claims (account, environment, since);
      """)
}

package import Database

extension Migrations {
  /// Adds the end of charging after a period, which is not known of payments of before, and the length of
  /// payments without an end, which is taken from the catalog as it is then.
  package static let entitlements = Migration(
    "charging that goes on after a period, lengths of periods that do not renew",
    script: """
      -- Up to when the store tries to charge for the next period, where it told.
      ALTER TABLE transactions ADD COLUMN charging_ends INTEGER;
      -- How long a payment for a subscription that does not renew lasts: the catalog's word when it was first seen.
      ALTER TABLE transactions ADD COLUMN length TEXT;
      UPDATE transactions
      SET length = (SELECT json_extract(document, '$.period') FROM products WHERE products.id = transactions.product)
      WHERE expires IS NULL AND product IN (SELECT id FROM products WHERE type = 'non-renewing-subscription');
      """)

  /// Adds which unlocked issues are back issues; those of before count as none.
  package static let backIssues = Migration(
    "back issues among those that subscriptions unlocked",
    script: """
      -- 1 of an issue before the latest one; 0 also of what was written down before this was told apart.
      ALTER TABLE unlocked_issues ADD COLUMN is_back_issue INTEGER NOT NULL DEFAULT 0;
      """)
}

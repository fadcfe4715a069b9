import Database

extension Migrations {
  /// Adds the purchase tokens of Google Play by their digests.
  static let googlePurchases = Migration(
    "purchase tokens of Google Play",
    script: """
      -- Purchases by the SHA-256 of their tokens. original_id is the first order, which transactions of the purchase have in common;
      -- it is missing for a token of which no more is known than that it was replaced: replaced is when a purchase with another
      -- token took its place.
      CREATE TABLE google_purchases (
        store TEXT NOT NULL,
        token_digest BLOB NOT NULL,
        kind TEXT NOT NULL,
        environment TEXT NOT NULL,
        original_id TEXT,
        replaced INTEGER,
        PRIMARY KEY (store, token_digest)
      ) STRICT, WITHOUT ROWID;
      """)
}

package import Database

extension Migrations {
  /// Adds the states of sale. Products that were on sale are cleared without a review, and products that were off sale are
  /// withdrawn.
  package static let sale = Migration(
    "the sale of products as a state, its review, price tiers, applications of transactions",
    script: """
      -- on_sale is 1 in the state 'cleared' alone. The dates and the tier are those of the document.
      ALTER TABLE products ADD COLUMN sale TEXT NOT NULL DEFAULT 'cleared';
      ALTER TABLE products ADD COLUMN available_from INTEGER;
      ALTER TABLE products ADD COLUMN available_until INTEGER;
      ALTER TABLE products ADD COLUMN price_tier TEXT;
      UPDATE products SET sale = 'withdrawn' WHERE on_sale = 0;
      CREATE INDEX products_by_price_tier ON products (price_tier) WHERE price_tier IS NOT NULL;
      CREATE INDEX products_by_sale ON products (sale, id) WHERE sale <> 'cleared';

      -- What was handed in for review last, and what came of it. approved is NULL while nothing is decided.
      CREATE TABLE product_reviews (
        product TEXT PRIMARY KEY,
        notes TEXT,
        submitted INTEGER NOT NULL,
        submitted_by TEXT NOT NULL,
        decided INTEGER,
        decided_by TEXT,
        approved INTEGER,
        reason TEXT
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE product_screenshots (
        product TEXT NOT NULL,
        media_type TEXT NOT NULL,
        digest BLOB NOT NULL,
        content BLOB NOT NULL CHECK (length(content) <= 1048576)
      ) STRICT;
      CREATE UNIQUE INDEX product_screenshots_by_product ON product_screenshots (product);

      CREATE TABLE price_tiers (
        name TEXT PRIMARY KEY,
        document TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      -- The revision at which a tier last changed.
      ALTER TABLE catalogue_state ADD COLUMN price_tiers INTEGER NOT NULL DEFAULT 0;

      -- NULL where the proof did not tell it, or was taken in before it was asked.
      ALTER TABLE transactions ADD COLUMN application TEXT;
      """)

  /// Adds the products that copies of the catalog in memory have to forget.
  static let removedProducts = Migration(
    "products that were removed",
    script: """
      -- The revision of the catalog at which the product was removed last; one that was made anew since has a later one.
      CREATE TABLE removed_products (
        id TEXT PRIMARY KEY,
        revision INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX removed_products_by_revision ON removed_products (revision);
      """)

  /// Adds the column and the indexes that the reports of sales read.
  static let salesReports = Migration(
    "territories of transactions, and the ledger by date",
    script: """
      -- ISO 3166 alpha-3; NULL where the proof did not tell it.
      ALTER TABLE transactions ADD COLUMN territory TEXT;
      CREATE INDEX transactions_by_purchase ON transactions (purchased) WHERE purchased IS NOT NULL;
      CREATE INDEX transactions_by_end ON transactions (expires) WHERE expires IS NOT NULL;
      CREATE INDEX transactions_by_refund ON transactions (revoked) WHERE revoked IS NOT NULL;
      """)
}

import Database

extension Migrations {
  static let feeds = Migration(
    "feeds of devices, and which issues subscriptions unlocked",
    script: """
      -- What a run of a subscription unlocked when it began, by its first transaction: the catalog may say otherwise later.
      CREATE TABLE unlocked_issues (
        store TEXT NOT NULL,
        environment TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        product TEXT NOT NULL,
        PRIMARY KEY (store, environment, transaction_id, product)
      ) STRICT, WITHOUT ROWID;

      -- One for each device and store. epoch tells its cursors from those of a feed that was forgotten; customer is a name of the
      -- ledger, NULL while no proof held a purchase.
      CREATE TABLE feeds (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        device TEXT NOT NULL,
        store TEXT NOT NULL,
        environment TEXT,
        customer BLOB,
        epoch INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        used INTEGER NOT NULL,
        UNIQUE (device, store)
      ) STRICT;
      CREATE INDEX feeds_by_use ON feeds (used);
      CREATE INDEX feeds_by_customer ON feeds (customer) WHERE customer IS NOT NULL;

      -- What a feed told last of each product.
      CREATE TABLE feed_items (
        feed INTEGER NOT NULL,
        product TEXT NOT NULL,
        kind TEXT NOT NULL,
        version TEXT,
        length INTEGER,
        transaction_id TEXT NOT NULL,
        not_before INTEGER,
        until INTEGER,
        sequence INTEGER NOT NULL,
        PRIMARY KEY (feed, product)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX feed_items_in_order ON feed_items (feed, sequence);
      """)
}

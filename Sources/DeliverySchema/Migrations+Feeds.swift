package import Database

extension Migrations {
  /// Adds the issues that runs of subscriptions unlocked, and the feeds with their items. Devices get a feed
  /// with the next proof that they show.
  package static let feeds = Migration(
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

  /// A feed keeps its number, its customer and what it told.
  static let feedsOfCustomers = Migration(
    "feeds of a device by customer",
    script: """
      DROP INDEX feeds_by_use;
      DROP INDEX feeds_by_customer;
      ALTER TABLE feeds RENAME TO feeds_before;
      -- One for each device, store and customer, and one of a device and store for proofs without a purchase, whose customer is NULL;
      -- whose a feed is never changes. epoch tells its cursors from those of a feed that was forgotten.
      CREATE TABLE feeds (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        device TEXT NOT NULL,
        store TEXT NOT NULL,
        environment TEXT,
        customer BLOB,
        epoch INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        used INTEGER NOT NULL,
        UNIQUE (device, store, customer)
      ) STRICT;
      INSERT INTO feeds (number, device, store, environment, customer, epoch, sequence, used)
      SELECT number, device, store, environment, customer, epoch, sequence, used FROM feeds_before ORDER BY number;
      -- Tokens name a feed by its number, which is given out once.
      INSERT INTO sqlite_sequence (name, seq)
      SELECT 'feeds', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'feeds');
      UPDATE sqlite_sequence
      SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'feeds_before'), 0))
      WHERE name = 'feeds';
      DROP TABLE feeds_before;
      CREATE UNIQUE INDEX feeds_without_customer ON feeds (device, store) WHERE customer IS NULL;
      CREATE INDEX feeds_by_use ON feeds (used);
      CREATE INDEX feeds_by_customer ON feeds (customer) WHERE customer IS NOT NULL;
      """)

  /// Removes an index that no statement uses any more.
  static let feedItemsByProduct = Migration(
    "items of a feed by product alone",
    script: """
      -- Each look reads all items of its feed.
      DROP INDEX feed_items_in_order;
      """)
}

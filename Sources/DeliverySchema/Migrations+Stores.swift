package import Database

/// The tables and columns of calls to stores of several kinds.
extension Migrations {
  /// Adds to the ledger how a store is told of a delivery, and by when. Transactions of before are finished in
  /// the earlier way.
  package static let acknowledgements = Migration(
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

  /// Adds the places of customers' devices, the accounts that purchases belong to, irregularities and consents.
  /// Every device of before has a place.
  package static let claims = Migration(
    "whose purchases are, where they are used, and what customers agree to",
    script: """
      -- A device that was granted something takes one of its customer's places.
      ALTER TABLE customer_devices ADD COLUMN granted INTEGER NOT NULL DEFAULT 0;
      UPDATE customer_devices SET granted = 1;
      CREATE INDEX customer_devices_granted ON customer_devices (customer, last_seen) WHERE granted = 1;

      -- Application accounts that a purchase belongs to, in the order of their claims, where they are others than the one that the
      -- store names.
      CREATE TABLE purchase_claims (
        store TEXT NOT NULL,
        environment TEXT NOT NULL,
        original_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        account TEXT NOT NULL CHECK (length(CAST(account AS BLOB)) <= 255),
        since INTEGER NOT NULL,
        PRIMARY KEY (store, environment, original_id, position)
      ) STRICT, WITHOUT ROWID;

      -- Store accounts that began to buy for an application account, each by a purchase; kept for a day.
      CREATE TABLE account_feeds (
        account TEXT NOT NULL CHECK (length(CAST(account AS BLOB)) <= 255),
        store TEXT NOT NULL,
        environment TEXT NOT NULL,
        original_id TEXT NOT NULL,
        since INTEGER NOT NULL,
        PRIMARY KEY (account, store, environment, original_id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX account_feeds_in_order ON account_feeds (account, environment, since);
      CREATE INDEX account_feeds_by_age ON account_feeds (since);

      -- subject: what makes two sightings one case, which no list shows; refused: 1 once a request was refused for it.
      CREATE TABLE irregularities (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        store TEXT NOT NULL,
        environment TEXT NOT NULL,
        subject TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        device TEXT,
        first_seen INTEGER NOT NULL,
        last_seen INTEGER NOT NULL,
        refused INTEGER NOT NULL,
        UNIQUE (kind, store, environment, subject)
      ) STRICT;
      CREATE INDEX irregularities_by_age ON irregularities (last_seen);

      -- Grants whose customers agree that the store learns what was delivered.
      CREATE TABLE consumption_consents (
        grant_number INTEGER PRIMARY KEY,
        since INTEGER NOT NULL
      ) STRICT;
      """)
}

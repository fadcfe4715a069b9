package import Database

extension Migrations {
  /// Rows of before do not say which environment a purchase was made in, and count as of the sandbox: no version that was
  /// released took purchases of any other.
  package static let ledger = Migration(
    "environments of transactions, the ledger of what was bought, customers and their devices",
    script: """
      ALTER TABLE grants ADD COLUMN environment TEXT NOT NULL DEFAULT 'Sandbox';
      DROP INDEX grants_by_device;
      CREATE UNIQUE INDEX grants_by_device
        ON grants (device, product, transaction_id, store, environment, version);

      UPDATE counters SET name = 'grants Sandbox ' || substr(name, 8) WHERE name LIKE 'grants %';
      INSERT INTO counters (name, value)
      SELECT 'grants Production ' || column1, 0
      FROM (VALUES ('granted'), ('completed'), ('finished'), ('revoked/granted'), ('revoked/completed'),
        ('revoked/finished'));
      DROP TRIGGER grants_count_insert;
      DROP TRIGGER grants_count_update;
      DROP TRIGGER grants_count_delete;
      CREATE TRIGGER grants_count_insert AFTER INSERT ON grants
      BEGIN
        UPDATE counters SET value = value + 1 WHERE name = 'grants ' || NEW.environment || ' ' || NEW.state;
      END;
      CREATE TRIGGER grants_count_update AFTER UPDATE OF state ON grants WHEN NEW.state <> OLD.state
      BEGIN
        UPDATE counters SET value = value - 1 WHERE name = 'grants ' || OLD.environment || ' ' || OLD.state;
        UPDATE counters SET value = value + 1 WHERE name = 'grants ' || NEW.environment || ' ' || NEW.state;
      END;
      CREATE TRIGGER grants_count_delete AFTER DELETE ON grants
      BEGIN
        UPDATE counters SET value = value - 1 WHERE name = 'grants ' || OLD.environment || ' ' || OLD.state;
      END;

      -- What a store last said of a transaction: as_of is up to when it knew, by its own clock, and revoked the date of a
      -- refund. The rest is NULL where no more is known than that. price is a decimal number, account what the application
      -- calls its customer.
      ALTER TABLE transactions RENAME TO transactions_before;
      CREATE TABLE transactions (
        store TEXT NOT NULL,
        environment TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        as_of INTEGER NOT NULL,
        revoked INTEGER,
        original_id TEXT,
        product TEXT,
        purchased INTEGER,
        expires INTEGER,
        grace_ends INTEGER,
        quantity INTEGER,
        price TEXT,
        currency TEXT,
        account TEXT CHECK (length(CAST(account AS BLOB)) <= 255),
        customer BLOB,
        PRIMARY KEY (store, environment, transaction_id)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO transactions (store, environment, transaction_id, as_of, revoked)
      SELECT store, 'Sandbox', transaction_id, as_of, revoked FROM transactions_before
      ORDER BY store, transaction_id;
      DROP TABLE transactions_before;
      CREATE INDEX transactions_by_customer ON transactions (customer, purchased) WHERE customer IS NOT NULL;
      -- Renewals and restored purchases; the first transaction of a purchase is found by its own name.
      CREATE INDEX transactions_by_original ON transactions (store, environment, original_id)
        WHERE original_id <> transaction_id;
      CREATE INDEX transactions_by_account ON transactions (store, environment, account)
        WHERE account IS NOT NULL;

      -- The devices that showed a customer's proofs.
      CREATE TABLE customer_devices (
        customer BLOB NOT NULL,
        device TEXT NOT NULL,
        first_seen INTEGER NOT NULL,
        last_seen INTEGER NOT NULL,
        PRIMARY KEY (customer, device)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX customer_devices_by_age ON customer_devices (last_seen);

      -- Names of customers who turned out to be others.
      CREATE TABLE customer_aliases (
        alias BLOB PRIMARY KEY,
        customer BLOB NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX customer_aliases_by_customer ON customer_aliases (customer);

      ALTER TABLE obligations RENAME TO obligations_before;
      CREATE TABLE obligations (
        store TEXT NOT NULL,
        environment TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        device TEXT NOT NULL,
        product TEXT NOT NULL,
        PRIMARY KEY (store, environment, transaction_id, device, product)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO obligations (store, environment, transaction_id, device, product)
      SELECT store, 'Sandbox', transaction_id, device, product FROM obligations_before
      ORDER BY store, transaction_id, device, product;
      DROP TABLE obligations_before;

      DROP TRIGGER outbox_count_insert;
      DROP TRIGGER outbox_count_update;
      DROP TRIGGER outbox_count_delete;
      DROP INDEX outbox_waiting;
      DROP INDEX outbox_open;
      DROP INDEX outbox_parked;
      DROP INDEX outbox_dropped;
      DROP INDEX outbox_done;
      ALTER TABLE outbox RENAME TO outbox_before;
      -- Calls to stores. parked: since when an operator has to ask for the next attempt; dropped: when an operator decided
      -- that it is not made, done then as well; leased_by, leased_until: the node that makes it, and until when no other one
      -- does.
      CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        store TEXT NOT NULL,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        next_attempt INTEGER NOT NULL,
        last_error TEXT,
        created INTEGER NOT NULL,
        done INTEGER,
        payload TEXT CHECK (length(CAST(payload AS BLOB)) <= 65536),
        refusals INTEGER NOT NULL DEFAULT 0,
        parked INTEGER,
        dropped INTEGER,
        leased_by TEXT,
        leased_until INTEGER,
        environment TEXT NOT NULL DEFAULT 'Sandbox',
        UNIQUE (store, kind, subject, environment)
      ) STRICT;
      INSERT INTO outbox (id, store, kind, subject, attempts, next_attempt, last_error, created, done, payload, refusals,
        parked, dropped, leased_by, leased_until)
      SELECT id, store, kind, subject, attempts, next_attempt, last_error, created, done, payload, refusals, parked,
        dropped, leased_by, leased_until
      FROM outbox_before ORDER BY id;
      DROP TABLE outbox_before;
      CREATE INDEX outbox_waiting ON outbox (store, next_attempt) WHERE done IS NULL AND parked IS NULL;
      CREATE INDEX outbox_open ON outbox (id) WHERE done IS NULL;
      CREATE INDEX outbox_parked ON outbox (id) WHERE done IS NULL AND parked IS NOT NULL;
      CREATE INDEX outbox_dropped ON outbox (id) WHERE dropped IS NOT NULL;
      CREATE INDEX outbox_done ON outbox (done) WHERE done IS NOT NULL;
      CREATE TRIGGER outbox_count_insert AFTER INSERT ON outbox
      BEGIN
        INSERT INTO outbox_counts (store, kind, waiting, parked)
        VALUES (NEW.store, NEW.kind, NEW.done IS NULL AND NEW.parked IS NULL, NEW.done IS NULL AND NEW.parked IS NOT NULL)
        ON CONFLICT (store, kind) DO UPDATE SET waiting = waiting + excluded.waiting, parked = parked + excluded.parked;
      END;
      CREATE TRIGGER outbox_count_update AFTER UPDATE OF done, parked ON outbox
      BEGIN
        UPDATE outbox_counts SET
          waiting = waiting + (NEW.done IS NULL AND NEW.parked IS NULL) - (OLD.done IS NULL AND OLD.parked IS NULL),
          parked = parked + (NEW.done IS NULL AND NEW.parked IS NOT NULL) - (OLD.done IS NULL AND OLD.parked IS NOT NULL)
        WHERE store = NEW.store AND kind = NEW.kind;
      END;
      CREATE TRIGGER outbox_count_delete AFTER DELETE ON outbox WHEN OLD.done IS NULL
      BEGIN
        UPDATE outbox_counts SET waiting = waiting - (OLD.parked IS NULL), parked = parked - (OLD.parked IS NOT NULL)
        WHERE store = OLD.store AND kind = OLD.kind;
      END;

      -- The environment of the purchase that an entry is about.
      ALTER TABLE audit ADD COLUMN environment TEXT;
      """)
}

extension Migrations {
  /// Adds the products that were ever bought, with those of the ledger.
  static let boughtProducts = Migration(
    "the products that were ever bought",
    script: """
      -- The ledger itself has no index by product: every purchase would write one.
      CREATE TABLE bought_products (
        product TEXT NOT NULL PRIMARY KEY
      ) STRICT, WITHOUT ROWID;
      INSERT INTO bought_products (product) SELECT DISTINCT product FROM transactions WHERE product IS NOT NULL;
      """)
}

import Database

/// The tables, step by step. Dates are milliseconds since the epoch.
enum StoreSchema {
  static let migrations = [
    Migration(
      "accounts and transactions",
      script: """
        CREATE TABLE accounts (
          id INTEGER PRIMARY KEY,
          name TEXT NOT NULL UNIQUE,
          title TEXT NOT NULL,
          territory TEXT NOT NULL,
          token_digest BLOB NOT NULL UNIQUE,
          created INTEGER NOT NULL,
          next_failure TEXT
        ) STRICT;
        CREATE TABLE transactions (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          account INTEGER NOT NULL REFERENCES accounts(id),
          product TEXT NOT NULL,
          quantity INTEGER NOT NULL,
          device TEXT,
          application_username TEXT,
          requested INTEGER NOT NULL,
          state TEXT NOT NULL CHECK (state IN ('purchasing', 'purchased', 'failed')),
          failure TEXT,
          type TEXT,
          original_id INTEGER,
          purchased INTEGER,
          expires INTEGER,
          finished INTEGER
        ) STRICT;
        CREATE INDEX transactions_by_account ON transactions (account, id);
        CREATE INDEX transactions_by_product ON transactions (account, product, id);
        CREATE INDEX transactions_in_queue ON transactions (account, id)
          WHERE finished IS NULL AND state <> 'failed';
        CREATE INDEX transactions_purchasing ON transactions (id) WHERE state = 'purchasing';
        INSERT INTO sqlite_sequence (name, seq) VALUES ('transactions', 2000000000000000);
        """),
    Migration(
      "the key by which a customer repeats a purchase",
      script: """
        ALTER TABLE transactions ADD COLUMN idempotency_key TEXT;
        CREATE UNIQUE INDEX transactions_by_key ON transactions (account, idempotency_key)
          WHERE idempotency_key IS NOT NULL;
        """),
  ]
}

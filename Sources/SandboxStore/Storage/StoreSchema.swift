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
    Migration("subscriptions and the length of a month") { connection in
      for column in [
        "storefront TEXT", "environment TEXT NOT NULL DEFAULT 'Sandbox'", "reason TEXT",
        "original_purchased INTEGER", "price TEXT", "currency TEXT", "upgraded INTEGER", "revoked INTEGER",
        "revocation TEXT", "revocation_percentage INTEGER", "revocation_reason INTEGER", "waits_for TEXT",
        "waits_until INTEGER",
      ] {
        try connection.execute("ALTER TABLE transactions ADD COLUMN \(column)")
      }
      try connection.execute(
        """
        UPDATE transactions SET reason = 'purchase', original_purchased = coalesce(
          (SELECT purchased FROM transactions AS original WHERE original.id = transactions.original_id), purchased)
        WHERE state = 'purchased'
        """)
      try connection.execute(
        "CREATE INDEX transactions_by_original ON transactions (account, original_id, id)")
      try connection.execute(
        "ALTER TABLE accounts ADD COLUMN can_make_payments INTEGER NOT NULL DEFAULT 1")
      try connection.execute("ALTER TABLE accounts ADD COLUMN asks_to_buy INTEGER NOT NULL DEFAULT 0")
      try connection.execute(
        """
        CREATE TABLE subscriptions (
          original_id INTEGER PRIMARY KEY REFERENCES transactions(id),
          account INTEGER NOT NULL REFERENCES accounts(id),
          group_name TEXT NOT NULL,
          due INTEGER,
          document TEXT NOT NULL
        ) STRICT
        """)
      try connection.execute("CREATE INDEX subscriptions_by_account ON subscriptions (account, due)")
      try connection.execute("CREATE INDEX subscriptions_due ON subscriptions (due) WHERE due IS NOT NULL")
      try connection.execute(
        """
        CREATE TABLE calendar (
          id INTEGER PRIMARY KEY CHECK (id = 1),
          month TEXT NOT NULL,
          renewals INTEGER NOT NULL
        ) STRICT
        """)
      try SubscriptionTable.insertEarlier(in: connection)
    },
  ]
}

package import Database

/// The tables, step by step. Dates are milliseconds since the epoch. docs/formats/store-schema.sql has the
/// result, and docs/contributing.md says how a migration is added.
package enum StoreSchema {
  /// The place of each is its version: none of those that were released is changed, moved or removed.
  /// Transactions count up from 2000000000000001. A trigger gives a transaction a new revision when it is
  /// sold, and with each change of its end, that of its license included, upgrade, revocation or application username.
  package static let migrations = [
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
    Migration(
      "notifications, the order of changes, extensions and reports of consumption",
      script: """
        CREATE TABLE notifications (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          uuid TEXT NOT NULL UNIQUE,
          type TEXT NOT NULL,
          subtype TEXT,
          account INTEGER REFERENCES accounts(id),
          original_id INTEGER,
          document TEXT NOT NULL,
          due INTEGER NOT NULL,
          awaits_subscription INTEGER NOT NULL DEFAULT 0,
          signed INTEGER,
          next_attempt INTEGER,
          attempts TEXT NOT NULL DEFAULT '[]',
          delivered INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX notifications_undated ON notifications (due, id) WHERE signed IS NULL;
        CREATE INDEX notifications_to_send ON notifications (next_attempt, id) WHERE next_attempt IS NOT NULL;
        CREATE INDEX notifications_by_date ON notifications (signed);
        CREATE INDEX notifications_by_subscription ON notifications (original_id) WHERE signed IS NULL;
        ALTER TABLE transactions ADD COLUMN revision INTEGER;
        UPDATE transactions SET revision = id WHERE state = 'purchased';
        CREATE INDEX transactions_by_revision ON transactions (revision) WHERE revision IS NOT NULL;
        CREATE INDEX transactions_by_history ON transactions (account, revision) WHERE state = 'purchased';
        CREATE INDEX transactions_by_first ON transactions (original_id, purchased) WHERE state = 'purchased';
        CREATE TRIGGER transaction_revisions
          AFTER UPDATE OF state, expires, upgraded, revoked, application_username ON transactions
          WHEN NEW.state = 'purchased' AND (OLD.state <> 'purchased' OR OLD.expires IS NOT NEW.expires
            OR OLD.upgraded IS NOT NEW.upgraded OR OLD.revoked IS NOT NEW.revoked
            OR OLD.application_username IS NOT NEW.application_username)
        BEGIN
          UPDATE transactions SET revision = 1 + coalesce(
            (SELECT max(revision) FROM transactions WHERE revision IS NOT NULL), 0) WHERE id = NEW.id;
        END;
        CREATE TABLE extensions (
          original_id INTEGER NOT NULL REFERENCES subscriptions(original_id),
          request TEXT NOT NULL,
          days INTEGER NOT NULL,
          reason INTEGER NOT NULL,
          extended INTEGER NOT NULL,
          effective INTEGER NOT NULL,
          PRIMARY KEY (original_id, request)
        ) STRICT;
        CREATE TABLE mass_extensions (
          product TEXT NOT NULL,
          request TEXT NOT NULL,
          days INTEGER NOT NULL,
          reason INTEGER NOT NULL,
          storefronts TEXT NOT NULL,
          begun INTEGER NOT NULL,
          cursor INTEGER NOT NULL DEFAULT 0,
          succeeded INTEGER NOT NULL DEFAULT 0,
          failed INTEGER NOT NULL DEFAULT 0,
          completed INTEGER,
          PRIMARY KEY (product, request)
        ) STRICT;
        CREATE TABLE consumption_reports (
          transaction_id INTEGER NOT NULL REFERENCES transactions(id),
          version INTEGER NOT NULL,
          document TEXT NOT NULL,
          received INTEGER NOT NULL,
          PRIMARY KEY (transaction_id, version)
        ) STRICT;
        """),
    Migration(
      "offers, codes, licenses, families and faults",
      script: """
        ALTER TABLE transactions ADD COLUMN opts_in INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE transactions ADD COLUMN offer_kind INTEGER;
        ALTER TABLE transactions ADD COLUMN offer_payment TEXT;
        ALTER TABLE transactions ADD COLUMN offer_name TEXT;
        ALTER TABLE transactions ADD COLUMN shared_from INTEGER REFERENCES transactions(id);
        ALTER TABLE transactions ADD COLUMN license INTEGER;
        ALTER TABLE transactions ADD COLUMN license_ends INTEGER;
        CREATE INDEX transactions_shared ON transactions (shared_from) WHERE shared_from IS NOT NULL;
        CREATE TABLE offers (
          product TEXT PRIMARY KEY,
          document TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE codes (
          code TEXT PRIMARY KEY,
          product TEXT NOT NULL,
          offer TEXT,
          uses INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE redemptions (
          code TEXT NOT NULL REFERENCES codes(code),
          account INTEGER NOT NULL REFERENCES accounts(id),
          PRIMARY KEY (code, account)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE licenses (
          id INTEGER PRIMARY KEY,
          product TEXT NOT NULL,
          seats INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE license_seats (
          license INTEGER NOT NULL REFERENCES licenses(id),
          account INTEGER NOT NULL REFERENCES accounts(id),
          transaction_id INTEGER NOT NULL REFERENCES transactions(id),
          PRIMARY KEY (license, account)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE family_members (
          member INTEGER PRIMARY KEY REFERENCES accounts(id),
          organizer INTEGER NOT NULL REFERENCES accounts(id)
        ) STRICT;
        CREATE INDEX family_members_by_organizer ON family_members (organizer, member);
        CREATE TABLE faults (
          id INTEGER PRIMARY KEY CHECK (id = 1),
          document TEXT NOT NULL
        ) STRICT;
        """),
    Migration(
      "the periods of offers, and the prices that customers saw",
      script: """
        ALTER TABLE transactions ADD COLUMN offer_period TEXT;
        ALTER TABLE transactions ADD COLUMN shown TEXT;
        """),
    Migration(
      "purchase tokens, and what is posted about them",
      script: """
        CREATE TABLE purchase_tokens (
          token TEXT PRIMARY KEY,
          account INTEGER NOT NULL REFERENCES accounts(id),
          chain INTEGER NOT NULL,
          first_id INTEGER NOT NULL,
          kind TEXT NOT NULL,
          linked TEXT,
          deadline INTEGER,
          acknowledged INTEGER,
          consumed INTEGER,
          voided_reason INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX purchase_tokens_by_chain ON purchase_tokens (chain, first_id);
        CREATE INDEX purchase_tokens_by_first ON purchase_tokens (first_id);
        CREATE INDEX purchase_tokens_due ON purchase_tokens (deadline) WHERE deadline IS NOT NULL;
        CREATE TABLE google_messages (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          token TEXT NOT NULL,
          kind INTEGER,
          document TEXT NOT NULL,
          next_attempt INTEGER NOT NULL,
          attempts INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX google_messages_due ON google_messages (next_attempt, id);
        CREATE INDEX google_messages_by_token ON google_messages (token, kind);
        """),
    Migration(
      "when accounts bought the application",
      script: """
        ALTER TABLE accounts ADD COLUMN original_version TEXT;
        ALTER TABLE accounts ADD COLUMN original_purchased INTEGER;
        ALTER TABLE accounts ADD COLUMN download_id INTEGER;
        """),
    Migration(
      "what redeemed a code",
      script: """
        ALTER TABLE redemptions ADD COLUMN idempotency_key TEXT;
        ALTER TABLE redemptions ADD COLUMN transaction_id INTEGER;
        """),
    Migration(
      "licenses that are taken back in the order of changes",
      script: """
        DROP TRIGGER transaction_revisions;
        CREATE TRIGGER transaction_revisions
          AFTER UPDATE OF state, expires, upgraded, revoked, application_username, license_ends ON transactions
          WHEN NEW.state = 'purchased' AND (OLD.state <> 'purchased' OR OLD.expires IS NOT NEW.expires
            OR OLD.upgraded IS NOT NEW.upgraded OR OLD.revoked IS NOT NEW.revoked
            OR OLD.application_username IS NOT NEW.application_username OR OLD.license_ends IS NOT NEW.license_ends)
        BEGIN
          UPDATE transactions SET revision = 1 + coalesce(
            (SELECT max(revision) FROM transactions WHERE revision IS NOT NULL), 0) WHERE id = NEW.id;
        END;
        """),
  ]
}

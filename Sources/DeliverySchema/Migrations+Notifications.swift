package import Database

extension Migrations {
  /// Adds the notifications that were taken in, and up to when the stores' histories of them were read.
  package static let notifications = Migration(
    "what stores tell by themselves",
    script: """
      -- Each notification once, by the store's own name of it. signed is when the store signed it; effect is whether its word
      -- on a transaction was taken in ('statement') or there was none ('none').
      CREATE TABLE notifications (
        store TEXT NOT NULL,
        uuid TEXT NOT NULL,
        type TEXT NOT NULL,
        subtype TEXT,
        signed INTEGER NOT NULL,
        environment TEXT NOT NULL,
        transaction_id TEXT,
        effect TEXT NOT NULL,
        received INTEGER NOT NULL,
        PRIMARY KEY (store, uuid)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX notifications_by_date ON notifications (store, signed);

      -- Up to when a store's own history of notifications was read, and how many were found there that had not arrived.
      CREATE TABLE notification_history (
        store TEXT NOT NULL,
        environment TEXT NOT NULL,
        until INTEGER NOT NULL,
        recovered INTEGER NOT NULL,
        PRIMARY KEY (store, environment)
      ) STRICT, WITHOUT ROWID;
      """)
}

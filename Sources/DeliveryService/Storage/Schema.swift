import Database

/// The delivery server's tables. A migration that was released is never changed; a new one is appended.
enum Schema {
  static let migrations = [
    Migration(
      "products, versions, uploads, grants, outbox, audit",
      script: """
        CREATE TABLE products (
          id TEXT PRIMARY KEY,
          document TEXT NOT NULL,
          type TEXT NOT NULL,
          publication TEXT,
          created INTEGER NOT NULL,
          changed INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX products_by_publication ON products (publication);

        CREATE TABLE versions (
          product TEXT NOT NULL REFERENCES products (id),
          version TEXT NOT NULL,
          state TEXT NOT NULL,
          digest BLOB NOT NULL,
          length INTEGER NOT NULL,
          manifest BLOB NOT NULL,
          manifest_digest BLOB NOT NULL,
          pieces INTEGER NOT NULL,
          files INTEGER NOT NULL,
          cover TEXT,
          title TEXT,
          created INTEGER NOT NULL,
          released INTEGER,
          reason TEXT,
          PRIMARY KEY (product, version)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX versions_by_digest ON versions (digest);

        CREATE TABLE uploads (
          id TEXT PRIMARY KEY,
          owner TEXT NOT NULL,
          length INTEGER,
          metadata TEXT NOT NULL,
          digest BLOB,
          created INTEGER NOT NULL,
          touched INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE grants (
          id TEXT PRIMARY KEY,
          store TEXT NOT NULL,
          transaction_id TEXT NOT NULL,
          product TEXT NOT NULL,
          version TEXT NOT NULL,
          device TEXT NOT NULL,
          public_key BLOB,
          digest BLOB NOT NULL,
          length INTEGER NOT NULL,
          manifest_digest BLOB NOT NULL,
          state TEXT NOT NULL,
          delivered INTEGER NOT NULL DEFAULT 0,
          count_has_hole INTEGER NOT NULL DEFAULT 0,
          created INTEGER NOT NULL,
          UNIQUE (store, transaction_id, product, version, device)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX grants_by_content ON grants (device, digest);
        CREATE INDEX grants_by_age ON grants (created);

        CREATE TABLE grant_events (
          id INTEGER PRIMARY KEY,
          grant_id TEXT NOT NULL REFERENCES grants (id),
          state TEXT NOT NULL,
          at INTEGER NOT NULL,
          detail TEXT
        ) STRICT;
        CREATE INDEX grant_events_by_grant ON grant_events (grant_id);

        -- What a transaction owes a device: it is finished when each product has a completed grant.
        CREATE TABLE obligations (
          store TEXT NOT NULL,
          transaction_id TEXT NOT NULL,
          device TEXT NOT NULL,
          product TEXT NOT NULL,
          PRIMARY KEY (store, transaction_id, device, product)
        ) STRICT, WITHOUT ROWID;

        -- Calls that a store still has to hear, in order of their next attempt.
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
          UNIQUE (store, kind, subject)
        ) STRICT;
        CREATE INDEX outbox_waiting ON outbox (next_attempt) WHERE done IS NULL;

        -- One row a run of the server; without an end it died.
        CREATE TABLE runs (
          id INTEGER PRIMARY KEY,
          started INTEGER NOT NULL,
          ended INTEGER
        ) STRICT;

        CREATE TABLE audit (
          id INTEGER PRIMARY KEY,
          at INTEGER NOT NULL,
          actor TEXT NOT NULL,
          action TEXT NOT NULL,
          subject TEXT NOT NULL,
          detail TEXT
        ) STRICT;
        """),
    signatures,
    stops,
    uploadsAndCollection,
    releases,
    holders,
  ]
}

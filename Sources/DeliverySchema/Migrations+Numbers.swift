package import Database

extension Migrations {
  /// Grants by number, in the order in which they were made: a list goes on behind a number, an index holds one in
  /// place of a name of 32 characters, and a new grant stands at the end of most of them. What is counted for
  /// metrics is counted by triggers. See docs/decisions/0016.
  ///
  /// It makes the table of grants anew: a migration that adds columns to it must come after this one.
  package static let numbers = Migration(
    "grants by number, counters, bytes sent in a table of their own, leases",
    script: """
      ALTER TABLE grants RENAME TO grants_before;
      ALTER TABLE grant_events RENAME TO grant_events_before;
      DROP INDEX grants_by_age;
      DROP INDEX grants_by_content;
      DROP INDEX grants_by_device;
      DROP INDEX grants_by_product;
      DROP INDEX grants_by_state;
      DROP INDEX grants_by_transaction;
      DROP INDEX grants_placed;
      DROP INDEX grants_revoked;
      DROP INDEX grant_events_by_grant;

      -- The number counts up: a later grant has a larger one. revoked_by is 'operator' or 'store' while the grant is
      -- revoked; placed is when the device last reported the content as placed.
      CREATE TABLE grants (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
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
        created INTEGER NOT NULL,
        revoked_by TEXT,
        placed INTEGER
      ) STRICT;
      INSERT INTO grants (id, store, transaction_id, product, version, device, public_key, digest, length,
        manifest_digest, state, created, revoked_by, placed)
      SELECT id, store, transaction_id, product, version, device, public_key, digest, length, manifest_digest, state,
        created, revoked_by, placed
      FROM grants_before ORDER BY created, id;
      CREATE UNIQUE INDEX grants_by_id ON grants (id);
      CREATE UNIQUE INDEX grants_by_device ON grants (device, product, transaction_id, store, version);
      CREATE INDEX grants_by_transaction ON grants (transaction_id);
      -- Each of these is followed by the number, in whose order lists are.
      CREATE INDEX grants_by_product ON grants (product, state);
      CREATE INDEX grants_by_version ON grants (product, version, state);
      CREATE INDEX grants_by_state ON grants (state);
      CREATE INDEX grants_placed ON grants (product, device, placed, version)
        WHERE placed IS NOT NULL AND revoked_by IS NULL;

      CREATE TABLE grant_events (
        id INTEGER PRIMARY KEY,
        grant_number INTEGER NOT NULL REFERENCES grants (number),
        state TEXT NOT NULL,
        at INTEGER NOT NULL,
        detail TEXT
      ) STRICT;
      INSERT INTO grant_events (id, grant_number, state, at, detail)
      SELECT event.id, number, event.state, at, detail
      FROM grant_events_before AS event JOIN grants ON grants.id = grant_id ORDER BY event.id;
      CREATE INDEX grant_events_by_grant ON grant_events (grant_number);

      -- Bytes of bodies that were sent for a grant; without a row, none were. Beside the grant, which is wide and in
      -- many indexes, since it changes every few seconds while a download runs.
      CREATE TABLE delivered_bytes (
        grant_number INTEGER PRIMARY KEY REFERENCES grants (number),
        bytes INTEGER NOT NULL
      ) STRICT;
      INSERT INTO delivered_bytes (grant_number, bytes)
      SELECT number, delivered FROM grants_before JOIN grants USING (id) WHERE delivered > 0 ORDER BY number;

      DROP TABLE grant_events_before;
      DROP TABLE grants_before;

      -- How many rows there are of what metrics show, kept by the triggers below.
      CREATE TABLE counters (
        name TEXT PRIMARY KEY,
        value INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO counters (name, value)
      SELECT 'grants ' || column1, (SELECT count(*) FROM grants WHERE state = column1)
      FROM (VALUES ('granted'), ('completed'), ('finished'), ('revoked/granted'), ('revoked/completed'),
        ('revoked/finished'));
      CREATE TRIGGER grants_count_insert AFTER INSERT ON grants
      BEGIN UPDATE counters SET value = value + 1 WHERE name = 'grants ' || NEW.state; END;
      CREATE TRIGGER grants_count_update AFTER UPDATE OF state ON grants WHEN NEW.state <> OLD.state
      BEGIN
        UPDATE counters SET value = value - 1 WHERE name = 'grants ' || OLD.state;
        UPDATE counters SET value = value + 1 WHERE name = 'grants ' || NEW.state;
      END;
      CREATE TRIGGER grants_count_delete AFTER DELETE ON grants
      BEGIN UPDATE counters SET value = value - 1 WHERE name = 'grants ' || OLD.state; END;

      -- When the next run found out that this one had not been ended.
      ALTER TABLE runs ADD COLUMN died INTEGER;
      UPDATE runs SET died = (SELECT min(started) FROM runs AS later WHERE later.id > runs.id) WHERE ended IS NULL;
      CREATE INDEX runs_died ON runs (died) WHERE died IS NOT NULL;

      -- Only (ordering) was asked for, and is asked for no more.
      DROP INDEX versions_by_number;

      -- The catalog's revision at which the product or one of its versions changed last.
      ALTER TABLE products ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX products_by_revision ON products (revision);

      -- The length of a package that is being removed, else NULL: its file may be there or not.
      ALTER TABLE unneeded_blobs ADD COLUMN condemned INTEGER;

      -- What one key did of one kind.
      CREATE INDEX audit_by_actor_and_action ON audit (actor, action);

      -- Who does work that only one process may do at a time, and until when unless it says so again.
      CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        until INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)
}

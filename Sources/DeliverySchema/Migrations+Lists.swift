package import Database

extension Migrations {
  /// A call keeps its number.
  package static let lists = Migration(
    "numbers of calls that are given out once, and an index for each list and count that grows",
    script: """
      DROP TRIGGER outbox_count_insert;
      DROP TRIGGER outbox_count_update;
      DROP TRIGGER outbox_count_delete;
      DROP INDEX outbox_waiting;
      DROP INDEX outbox_open;
      DROP INDEX outbox_parked;
      DROP INDEX outbox_dropped;
      DROP INDEX outbox_done;
      ALTER TABLE outbox RENAME TO outbox_before;
      -- Calls to stores. A number is given out once: what remembers it means one call. parked: since when an operator has to ask
      -- for the next attempt; dropped: when an operator decided that it is not made, done then as well; leased_by, leased_until:
      -- the node that makes it, and until when no other one does.
      CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
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
        state TEXT NOT NULL GENERATED ALWAYS AS (CASE WHEN dropped IS NOT NULL THEN 'dropped'
          WHEN done IS NOT NULL THEN 'done' WHEN parked IS NOT NULL THEN 'parked' ELSE 'waiting' END) VIRTUAL,
        UNIQUE (store, kind, subject, environment)
      ) STRICT;
      INSERT INTO outbox (id, store, kind, subject, attempts, next_attempt, last_error, created, done, payload, refusals,
        parked, dropped, leased_by, leased_until, environment)
      SELECT id, store, kind, subject, attempts, next_attempt, last_error, created, done, payload, refusals, parked,
        dropped, leased_by, leased_until, environment
      FROM outbox_before ORDER BY id;
      DROP TABLE outbox_before;
      CREATE INDEX outbox_waiting ON outbox (store, next_attempt) WHERE done IS NULL AND parked IS NULL;
      CREATE INDEX outbox_done ON outbox (done) WHERE done IS NOT NULL;
      -- Followed by the number, in whose order lists are.
      CREATE INDEX outbox_by_state ON outbox (state, store, kind);
      -- Of what is not over: a call whose payload is renewed keeps its number and is younger than that.
      CREATE INDEX outbox_by_age ON outbox (state, store, created) WHERE done IS NULL;
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

      -- Lists of the audit log are in the order of the times.
      DROP INDEX audit_by_product;
      DROP INDEX audit_by_actor;
      DROP INDEX audit_by_action;
      DROP INDEX audit_by_actor_and_action;
      CREATE INDEX audit_by_product ON audit (product, at);
      CREATE INDEX audit_by_actor ON audit (actor, at);
      CREATE INDEX audit_by_action ON audit (action, at);
      CREATE INDEX audit_by_actor_and_action ON audit (actor, action, at);

      CREATE INDEX irregularities_by_kind ON irregularities (kind);
      INSERT INTO counters (name, value)
      SELECT 'irregularities ' || kind, count(*) FROM irregularities GROUP BY kind;
      CREATE TRIGGER irregularities_count_insert AFTER INSERT ON irregularities
      BEGIN
        INSERT INTO counters (name, value) VALUES ('irregularities ' || NEW.kind, 1)
        ON CONFLICT (name) DO UPDATE SET value = value + 1;
      END;
      CREATE TRIGGER irregularities_count_delete AFTER DELETE ON irregularities
      BEGIN
        UPDATE counters SET value = value - 1 WHERE name = 'irregularities ' || OLD.kind;
      END;
      """)
}

package import Database

extension Migrations {
  /// Adds the ends of licenses, the proofs that stores vouched for, and the grants and proofs that a store is
  /// still to confirm.
  package static let grace = Migration(
    "what serves while a store is away, ends of licenses",
    script: """
      -- The end of a volume purchase's license, where the store told one.
      ALTER TABLE transactions ADD COLUMN license_ends INTEGER;

      -- Proofs that a store vouched for when a grant was made of them, by their digests: good is when it last did, exact to
      -- an hour, and transactions are the numbers that the proof held, with spaces between them.
      CREATE TABLE remembered_proofs (
        store TEXT NOT NULL,
        digest BLOB NOT NULL,
        device TEXT NOT NULL,
        environment TEXT NOT NULL,
        transactions TEXT NOT NULL,
        good INTEGER NOT NULL,
        PRIMARY KEY (store, digest, device)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX remembered_proofs_by_age ON remembered_proofs (good);

      -- Proofs that were served while their store was away, as they came, until it is asked again.
      CREATE TABLE unconfirmed_proofs (
        id INTEGER PRIMARY KEY,
        store TEXT NOT NULL,
        digest BLOB NOT NULL,
        proof BLOB NOT NULL,
        length INTEGER NOT NULL,
        since INTEGER NOT NULL,
        UNIQUE (store, digest)
      ) STRICT;
      -- The grants that rest on them.
      CREATE TABLE unconfirmed_grants (
        grant_number INTEGER PRIMARY KEY REFERENCES grants (number),
        proof INTEGER NOT NULL REFERENCES unconfirmed_proofs (id),
        since INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX unconfirmed_grants_by_proof ON unconfirmed_grants (proof);
      """)

  /// Adds the date as of which a license's end was told. It is not known of the ends that the table has; they get the date
  /// of the row's other facts.
  static let licenseDates = Migration(
    "as of when the end of a license is told",
    script: """
      -- As of when the store told of license_ends, or that there is none; NULL where it told nothing of licenses.
      ALTER TABLE transactions ADD COLUMN license_as_of INTEGER;
      UPDATE transactions SET license_as_of = as_of WHERE license_ends IS NOT NULL;
      """)

  /// Adds the counters of what is to be confirmed, with what there is, and the triggers that keep them.
  static let unconfirmedCounts = Migration(
    "counters of what rests on an earlier word of a store, and an index of the proofs of each",
    script: """
      -- With the length, which lies behind the proof in the row.
      CREATE INDEX unconfirmed_proofs_by_store ON unconfirmed_proofs (store, id, length);
      INSERT INTO counters (name, value)
      SELECT 'unconfirmed proofs', count(*) FROM unconfirmed_proofs
      UNION ALL SELECT 'unconfirmed bytes', coalesce(sum(length), 0) FROM unconfirmed_proofs
      UNION ALL SELECT 'unconfirmed grants', count(*) FROM unconfirmed_grants;
      CREATE TRIGGER unconfirmed_proofs_count_insert AFTER INSERT ON unconfirmed_proofs
      BEGIN
        UPDATE counters SET value = value + 1 WHERE name = 'unconfirmed proofs';
        UPDATE counters SET value = value + NEW.length WHERE name = 'unconfirmed bytes';
      END;
      CREATE TRIGGER unconfirmed_proofs_count_delete AFTER DELETE ON unconfirmed_proofs
      BEGIN
        UPDATE counters SET value = value - 1 WHERE name = 'unconfirmed proofs';
        UPDATE counters SET value = value - OLD.length WHERE name = 'unconfirmed bytes';
      END;
      CREATE TRIGGER unconfirmed_grants_count_insert AFTER INSERT ON unconfirmed_grants
      BEGIN UPDATE counters SET value = value + 1 WHERE name = 'unconfirmed grants'; END;
      CREATE TRIGGER unconfirmed_grants_count_delete AFTER DELETE ON unconfirmed_grants
      BEGIN UPDATE counters SET value = value - 1 WHERE name = 'unconfirmed grants'; END;
      """)
}

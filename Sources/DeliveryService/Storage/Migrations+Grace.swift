import Database

extension Migrations {
  static let grace = Migration(
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

  /// What an end was as of is not known: as of what is known of all else.
  static let licenseDates = Migration(
    "as of when the end of a license is told",
    script: """
      -- As of when the store told of license_ends, or that there is none; NULL where it told nothing of licenses.
      ALTER TABLE transactions ADD COLUMN license_as_of INTEGER;
      UPDATE transactions SET license_as_of = as_of WHERE license_ends IS NOT NULL;
      """)
}

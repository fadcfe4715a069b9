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
}

import Database

extension Migrations {
  /// Adds what several servers on one database need to know of each other. A file has one server, which leaves all but the counts of
  /// bytes empty.
  static let nodes = Migration(
    "nodes, their runs and counts, the log of stops, ticket keys",
    script: """
      -- A server of those that share the database. process: names its run in leases; heartbeat: when it was heard of last, by the
      -- clock of the database; gone: since when it is not there any more, ended or declared dead.
      CREATE TABLE nodes (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        process TEXT NOT NULL,
        address TEXT NOT NULL,
        version TEXT NOT NULL,
        started INTEGER NOT NULL,
        heartbeat INTEGER NOT NULL,
        gone INTEGER
      ) STRICT;

      -- node: NULL for the only server of a file; heard: when a node that died had been heard of last.
      ALTER TABLE runs ADD COLUMN node INTEGER;
      ALTER TABLE runs ADD COLUMN heard INTEGER;

      -- Bytes of bodies that were sent for a grant, by each node; 0 is the only server of a file.
      ALTER TABLE delivered_bytes RENAME TO delivered_bytes_before;
      CREATE TABLE delivered_bytes (
        grant_number INTEGER NOT NULL REFERENCES grants (number),
        node INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (grant_number, node)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO delivered_bytes (grant_number, node, bytes)
      SELECT grant_number, 0, bytes FROM delivered_bytes_before ORDER BY grant_number;
      DROP TABLE delivered_bytes_before;

      -- The grants and packages whose stops have changed, in the order of the commits; what holds of them stands in their own tables.
      CREATE TABLE stop_log (
        revision INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE stop_revision (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        revision INTEGER NOT NULL
      ) STRICT;

      -- The keys that seal tickets of servers that share the database; the only server of a file has them in a file of their own.
      CREATE TABLE ticket_keys (
        id INTEGER PRIMARY KEY,
        secret BLOB NOT NULL,
        seals INTEGER NOT NULL,
        retired INTEGER
      ) STRICT, WITHOUT ROWID;
      """)

  /// The version of the tables from which on there is a place for the name of the installation.
  package static let firstVersionWithInstallation =
    (all.firstIndex { $0.name == installation.name } ?? all.count) + 1

  /// Adds the name of the installation.
  static let installation = Migration(
    "the name of the installation",
    script: """
      -- One row at most: the name that what is kept in a bucket bears.
      CREATE TABLE installation (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        name TEXT NOT NULL
      ) STRICT;
      """)

  /// Adds what nodes say of what they were asked to write down.
  static let nodeAnswers = Migration(
    "answers of nodes",
    script: """
      -- What the node had sent by then stands in the tables: its answer to completions that wait for it.
      ALTER TABLE nodes ADD COLUMN answered INTEGER;
      """)
}

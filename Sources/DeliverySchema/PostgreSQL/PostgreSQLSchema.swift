package import PostgreSQLEngine

/// The tables of the delivery server in PostgreSQL, 15 or later: what ``Migrations`` have made of SQLite's, for an empty schema of a
/// database whose encoding is UTF-8. Names are unqualified: `search_path` says where the tables are made. The tables as they are now:
/// docs/formats/postgresql-schema.sql. `scripts/lib/check-postgresql-sql` compares them with those of SQLite.
///
/// Names and meanings are the same in both. These differ:
///
/// - Texts compare by their bytes (`COLLATE "C"`), as SQLite's do.
/// - A table whose rows the database numbers has an identity. An index by which a list goes in the order of the primary key has the
///   key's columns at its end; in SQLite every index has.
/// - What triggers count is in ``stripes`` rows for each name, and readers add them up.
/// - Pages of tables whose rows change all the time are not filled (`fillfactor`), so that a later state of a row stands on the page of
///   the earlier one and the indexes need no new entry.
package enum PostgreSQLSchema {
  /// The number of ``Migrations`` that the schema stands for. A later migration is made in both databases.
  package static let version = 57

  /// The rows that a counter has at most. A transaction that counts has a stripe of its own until it ends, of all counters: the first that is
  /// free behind a number of the process of PostgreSQL that serves it, in the first quarter. So no two wait for each other's counters, in
  /// whatever order they count, unless more than as many write at once.
  static let stripes = 256

  /// The first number of the advisory locks on stripes, the second of which is the stripe: `pusx` in ASCII. The locks of bodies and of tables
  /// have one number of 64 bits, and so none of these.
  private static let stripeLocks = 1_886_745_464

  /// The statements, for one transaction. They end in semicolons; the bodies of functions are between `$$`.
  package static let script = parts.joined(separator: "\n")

  /// The tables of this program.
  package static let definition = SchemaDefinition(version: version, script: script)

  private static let parts = [
    refusals, counters, products, versions, previews, packages, grants, unconfirmedGrants, ledger,
    customers, readers, claims, notifications, feeds, outbox, operations, nodes,
  ]

  /// The function of triggers that refuse a change, with the sentence that they give it.
  private static let refusals = """
    CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'check_violation';
    END
    $$;

    """

  /// The counts that metrics show, kept by the triggers of other tables. All transactions change these rows: 80.
  private static let counters = """
    CREATE TABLE counters (
      name TEXT COLLATE "C" NOT NULL,
      stripe BIGINT NOT NULL DEFAULT 0,
      value BIGINT NOT NULL,
      PRIMARY KEY (name, stripe)
    ) WITH (fillfactor = 80);

    CREATE FUNCTION own_stripe() RETURNS BIGINT LANGUAGE plpgsql AS $$
    DECLARE
      first INTEGER := pg_backend_pid() % \(stripes / 4);
    BEGIN
      FOR further IN 0..\(stripes - 1) LOOP
        IF pg_try_advisory_xact_lock(\(stripeLocks), (first + further) % \(stripes)) THEN
          RETURN (first + further) % \(stripes);
        END IF;
      END LOOP;
      RETURN first;
    END
    $$;

    CREATE FUNCTION add_to_counter(counter TEXT, difference BIGINT) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO counters (name, stripe, value) VALUES (counter, own_stripe(), difference)
      ON CONFLICT (name, stripe) DO UPDATE SET value = counters.value + excluded.value;
    END
    $$;

    """
}

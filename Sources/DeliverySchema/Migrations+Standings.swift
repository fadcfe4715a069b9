package import Database

extension Migrations {
  /// Adds the dates of stores' and operators' words. A store's earlier revocation has no date: it counts from when the
  /// grant's history noted it, or from now where that history was forgotten.
  package static let standings = Migration(
    "the dates of what stores and operators said of purchases",
    script: """
      -- What a store last said of a transaction: as_of is up to when it knew, by its own clock, and revoked the date of a
      -- refund.
      CREATE TABLE transactions (
        store TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        as_of INTEGER NOT NULL,
        revoked INTEGER,
        PRIMARY KEY (store, transaction_id)
      ) STRICT, WITHOUT ROWID;
      -- What an operator last decided about the grant, and when; a reinstatement excuses the store's revocation of that date.
      ALTER TABLE grants ADD COLUMN operator_decision TEXT CHECK (operator_decision IN ('revoke', 'reinstate'));
      ALTER TABLE grants ADD COLUMN operator_as_of INTEGER;
      ALTER TABLE grants ADD COLUMN operator_excuses INTEGER;

      INSERT INTO transactions (store, transaction_id, as_of, revoked)
      SELECT store, transaction_id, max(at), max(at) FROM (
        SELECT store, transaction_id, coalesce(
          (SELECT max(at) FROM grant_events WHERE grant_number = number AND grant_events.state = 'revoked'),
          CAST(strftime('%s', 'now') AS INTEGER) * 1000) AS at
        FROM grants WHERE revoked_by = 'store')
      GROUP BY store, transaction_id;
      -- Grants of old rest on words whose dates are not known: any is later.
      INSERT OR IGNORE INTO transactions (store, transaction_id, as_of) SELECT store, transaction_id, 0 FROM grants;
      UPDATE grants SET operator_decision = 'revoke', operator_as_of = coalesce(
        (SELECT max(at) FROM grant_events WHERE grant_number = number AND grant_events.state = 'revoked'), created)
      WHERE revoked_by = 'operator';
      """)
}

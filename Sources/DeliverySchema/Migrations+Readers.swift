import Database

extension Migrations {
  /// Adds the keys of applications for reading.
  static let readerKeys = Migration(
    "readers' keys",
    script: """
      -- What an application for reading shows in place of a proof. device: the customer's device that the key counts as; digest: the
      -- SHA-256 of its password; used: when it was shown last, to an hour; NULL while it never was.
      CREATE TABLE reader_keys (
        name TEXT PRIMARY KEY,
        customer BLOB NOT NULL,
        device TEXT NOT NULL,
        title TEXT NOT NULL,
        digest BLOB NOT NULL,
        territory TEXT,
        locale TEXT,
        created INTEGER NOT NULL,
        used INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX reader_keys_by_customer ON reader_keys (customer, created);
      """)

  /// Gives the grants of readers' keys a state of their own, `reading`: no report is expected of them. A grant without a public key on the
  /// device of a key is one of those.
  static let readersGrants = Migration(
    "grants of readers' keys",
    script: """
      INSERT INTO counters (name, value)
      SELECT 'grants ' || column1, 0
      FROM (VALUES ('Production reading'), ('Production revoked/reading'), ('Sandbox reading'), ('Sandbox revoked/reading'));
      UPDATE grants SET state = 'reading'
      WHERE device IN (SELECT device FROM reader_keys) AND state = 'granted' AND public_key IS NULL;
      UPDATE grants SET state = 'revoked/reading'
      WHERE device IN (SELECT device FROM reader_keys) AND state = 'revoked/granted' AND public_key IS NULL;
      """)

  /// Counts, by readers' keys, the changes of what their customers' transactions say. What a customer owns is worked out anew after one.
  static let readersLedgers = Migration(
    "changes of the ledger, counted by readers' keys",
    script: """
      -- changes: of the customer's transactions, as far as the rules of entitlements ask about them.
      ALTER TABLE reader_keys ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;
      CREATE TRIGGER reader_keys_by_purchase AFTER INSERT ON transactions WHEN NEW.customer IS NOT NULL
      BEGIN
        UPDATE reader_keys SET changes = changes + 1 WHERE customer = NEW.customer;
      END;
      CREATE TRIGGER reader_keys_by_change
      AFTER UPDATE OF \(transactionColumns) ON transactions
      WHEN (\(transactionColumns(of: "NEW"))) IS NOT (\(transactionColumns(of: "OLD")))
      BEGIN
        UPDATE reader_keys SET changes = changes + 1 WHERE customer IN (OLD.customer, NEW.customer);
      END;
      """)

  /// Adds the codes and the tokens of applications that sign in by OAuth 2.
  static let readersTokens = Migration(
    "codes and tokens of readers' keys",
    script: """
      -- A code that may be exchanged once for a token, the last of its key. digest: the SHA-256 of the code; challenge: that of its verifier;
      -- request: that of the client and the address to which it was sent.
      CREATE TABLE reader_codes (
        name TEXT PRIMARY KEY,
        digest BLOB NOT NULL,
        challenge BLOB NOT NULL,
        request BLOB NOT NULL,
        expires INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      -- What an application shows in place of a key's password. digest: the SHA-256 of the token; code: that of the code that it was given for.
      CREATE TABLE reader_tokens (
        digest BLOB PRIMARY KEY,
        name TEXT NOT NULL,
        code BLOB NOT NULL,
        created INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX reader_tokens_by_name ON reader_tokens (name, created);
      """)

  /// The columns of a transaction that the rules of entitlements ask about.
  private static let transactionColumns =
    "revoked, original_id, product, purchased, expires, grace_ends, quantity, customer, license_ends, application, charging_ends, length, origin"

  private static func transactionColumns(of row: String) -> String {
    transactionColumns.split(separator: ", ").map { "\(row).\($0)" }.joined(separator: ", ")
  }
}

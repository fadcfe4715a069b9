import Database

extension Migrations {
  /// Adds whether products are on sale, the answers to repeated requests, and the orders of two lists. Products
  /// of before are on sale.
  static let contract = Migration(
    "products off sale, answers by idempotency key, the audit log by time",
    script: """
      -- 0: in no list, and only with those who bought it before.
      ALTER TABLE products ADD COLUMN on_sale INTEGER NOT NULL DEFAULT 1;

      -- What a request with an Idempotency-Key was answered, for a repetition of it: by the name of the operator key, with
      -- the SHA-256 of what was asked.
      CREATE TABLE idempotent_answers (
        actor TEXT NOT NULL,
        key TEXT NOT NULL,
        fingerprint BLOB NOT NULL,
        status INTEGER NOT NULL,
        location TEXT,
        body BLOB NOT NULL,
        created INTEGER NOT NULL,
        PRIMARY KEY (actor, key)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX idempotent_answers_by_age ON idempotent_answers (created);

      CREATE INDEX audit_by_time ON audit (at);
      CREATE INDEX uploads_by_age ON uploads (created, id);
      """)

  /// Adds the index by which the answers of one operator are counted.
  static let answersByTime = Migration(
    "how many answers an operator's keys had in a day",
    script: """
      -- In the rows the time stands behind the answer, of up to 64 KiB.
      CREATE INDEX idempotent_answers_by_actor ON idempotent_answers (actor, created);
      """)
}

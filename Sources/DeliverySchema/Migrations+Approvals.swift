import Database

extension Migrations {
  /// Adds the steps that want a second operator.
  static let approvals = Migration(
    "steps that want a second operator",
    script: """
      -- The request that is made again once it is approved: method, pattern, target, tag (If-Match) and body. affected: how many devices or
      -- grants it is about; asked_key: the SHA-256 of the operator key that asked; decided_by: who approved or declined it; outcome: why
      -- it was declined, or could not be carried out, or how far it came.
      CREATE TABLE approvals (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        state TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        reason TEXT,
        affected INTEGER,
        scope TEXT NOT NULL,
        asked INTEGER NOT NULL,
        asked_by TEXT NOT NULL,
        asked_key BLOB NOT NULL,
        expires INTEGER NOT NULL,
        decided INTEGER,
        decided_by TEXT,
        outcome TEXT,
        method TEXT NOT NULL,
        pattern TEXT NOT NULL,
        target TEXT NOT NULL,
        tag TEXT,
        body BLOB NOT NULL
      ) STRICT;
      CREATE INDEX approvals_by_state ON approvals (state, id);
      CREATE INDEX approvals_by_age ON approvals (asked);
      CREATE INDEX approvals_waiting ON approvals (expires) WHERE state = 'waiting';
      """)
}

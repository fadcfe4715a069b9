CREATE TABLE accounts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  territory TEXT NOT NULL,
  token_digest BLOB NOT NULL UNIQUE,
  created INTEGER NOT NULL,
  next_failure TEXT,
  can_make_payments INTEGER NOT NULL DEFAULT 1,
  asks_to_buy INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE calendar (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  month TEXT NOT NULL,
  renewals INTEGER NOT NULL
) STRICT;

CREATE TABLE subscriptions (
  original_id INTEGER PRIMARY KEY REFERENCES transactions(id),
  account INTEGER NOT NULL REFERENCES accounts(id),
  group_name TEXT NOT NULL,
  due INTEGER,
  document TEXT NOT NULL
) STRICT;
CREATE INDEX subscriptions_by_account ON subscriptions (account, due);
CREATE INDEX subscriptions_due ON subscriptions (due) WHERE due IS NOT NULL;

CREATE TABLE transactions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  account INTEGER NOT NULL REFERENCES accounts(id),
  product TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  device TEXT,
  application_username TEXT,
  requested INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('purchasing', 'purchased', 'failed')),
  failure TEXT,
  type TEXT,
  original_id INTEGER,
  purchased INTEGER,
  expires INTEGER,
  finished INTEGER,
  idempotency_key TEXT,
  storefront TEXT,
  environment TEXT NOT NULL DEFAULT 'Sandbox',
  reason TEXT,
  original_purchased INTEGER,
  price TEXT,
  currency TEXT,
  upgraded INTEGER,
  revoked INTEGER,
  revocation TEXT,
  revocation_percentage INTEGER,
  revocation_reason INTEGER,
  waits_for TEXT,
  waits_until INTEGER
) STRICT;
CREATE INDEX transactions_by_account ON transactions (account, id);
CREATE UNIQUE INDEX transactions_by_key ON transactions (account, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX transactions_by_original ON transactions (account, original_id, id);
CREATE INDEX transactions_by_product ON transactions (account, product, id);
CREATE INDEX transactions_in_queue ON transactions (account, id) WHERE finished IS NULL AND state <> 'failed';
CREATE INDEX transactions_purchasing ON transactions (id) WHERE state = 'purchasing';

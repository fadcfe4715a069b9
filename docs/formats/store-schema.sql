CREATE TABLE accounts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  territory TEXT NOT NULL,
  token_digest BLOB NOT NULL UNIQUE,
  created INTEGER NOT NULL,
  next_failure TEXT,
  can_make_payments INTEGER NOT NULL DEFAULT 1,
  asks_to_buy INTEGER NOT NULL DEFAULT 0,
  original_version TEXT,
  original_purchased INTEGER,
  download_id INTEGER
) STRICT;

CREATE TABLE calendar (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  month TEXT NOT NULL,
  renewals INTEGER NOT NULL
) STRICT;

CREATE TABLE codes (
  code TEXT PRIMARY KEY,
  product TEXT NOT NULL,
  offer TEXT,
  uses INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE consumption_reports (
  transaction_id INTEGER NOT NULL REFERENCES transactions(id),
  version INTEGER NOT NULL,
  document TEXT NOT NULL,
  received INTEGER NOT NULL,
  PRIMARY KEY (transaction_id, version)
) STRICT;

CREATE TABLE extensions (
  original_id INTEGER NOT NULL REFERENCES subscriptions(original_id),
  request TEXT NOT NULL,
  days INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  extended INTEGER NOT NULL,
  effective INTEGER NOT NULL,
  PRIMARY KEY (original_id, request)
) STRICT;

CREATE TABLE family_members (
  member INTEGER PRIMARY KEY REFERENCES accounts(id),
  organizer INTEGER NOT NULL REFERENCES accounts(id)
) STRICT;
CREATE INDEX family_members_by_organizer ON family_members (organizer, member);

CREATE TABLE faults (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  document TEXT NOT NULL
) STRICT;

CREATE TABLE google_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  token TEXT NOT NULL,
  kind INTEGER,
  document TEXT NOT NULL,
  next_attempt INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX google_messages_by_token ON google_messages (token, kind);
CREATE INDEX google_messages_due ON google_messages (next_attempt, id);

CREATE TABLE license_seats (
  license INTEGER NOT NULL REFERENCES licenses(id),
  account INTEGER NOT NULL REFERENCES accounts(id),
  transaction_id INTEGER NOT NULL REFERENCES transactions(id),
  PRIMARY KEY (license, account)
) STRICT, WITHOUT ROWID;

CREATE TABLE licenses (
  id INTEGER PRIMARY KEY,
  product TEXT NOT NULL,
  seats INTEGER NOT NULL
) STRICT;

CREATE TABLE mass_extensions (
  product TEXT NOT NULL,
  request TEXT NOT NULL,
  days INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  storefronts TEXT NOT NULL,
  begun INTEGER NOT NULL,
  cursor INTEGER NOT NULL DEFAULT 0,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  completed INTEGER,
  PRIMARY KEY (product, request)
) STRICT;

CREATE TABLE notifications (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  subtype TEXT,
  account INTEGER REFERENCES accounts(id),
  original_id INTEGER,
  document TEXT NOT NULL,
  due INTEGER NOT NULL,
  awaits_subscription INTEGER NOT NULL DEFAULT 0,
  signed INTEGER,
  next_attempt INTEGER,
  attempts TEXT NOT NULL DEFAULT '[]',
  delivered INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX notifications_by_date ON notifications (signed);
CREATE INDEX notifications_by_subscription ON notifications (original_id) WHERE signed IS NULL;
CREATE INDEX notifications_to_send ON notifications (next_attempt, id) WHERE next_attempt IS NOT NULL;
CREATE INDEX notifications_undated ON notifications (due, id) WHERE signed IS NULL;

CREATE TABLE offers (
  product TEXT PRIMARY KEY,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE purchase_tokens (
  token TEXT PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts(id),
  chain INTEGER NOT NULL,
  first_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  linked TEXT,
  deadline INTEGER,
  acknowledged INTEGER,
  consumed INTEGER,
  voided_reason INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX purchase_tokens_by_chain ON purchase_tokens (chain, first_id);
CREATE INDEX purchase_tokens_by_first ON purchase_tokens (first_id);
CREATE INDEX purchase_tokens_due ON purchase_tokens (deadline) WHERE deadline IS NOT NULL;

CREATE TABLE redemptions (
  code TEXT NOT NULL REFERENCES codes(code),
  account INTEGER NOT NULL REFERENCES accounts(id),
  idempotency_key TEXT,
  transaction_id INTEGER,
  PRIMARY KEY (code, account)
) STRICT, WITHOUT ROWID;

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
  waits_until INTEGER,
  revision INTEGER,
  opts_in INTEGER NOT NULL DEFAULT 0,
  offer_kind INTEGER,
  offer_payment TEXT,
  offer_name TEXT,
  shared_from INTEGER REFERENCES transactions(id),
  license INTEGER,
  license_ends INTEGER,
  offer_period TEXT,
  shown TEXT
) STRICT;
CREATE INDEX transactions_by_account ON transactions (account, id);
CREATE INDEX transactions_by_first ON transactions (original_id, purchased) WHERE state = 'purchased';
CREATE INDEX transactions_by_history ON transactions (account, revision) WHERE state = 'purchased';
CREATE UNIQUE INDEX transactions_by_key ON transactions (account, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX transactions_by_original ON transactions (account, original_id, id);
CREATE INDEX transactions_by_product ON transactions (account, product, id);
CREATE INDEX transactions_by_revision ON transactions (revision) WHERE revision IS NOT NULL;
CREATE INDEX transactions_in_queue ON transactions (account, id) WHERE finished IS NULL AND state <> 'failed';
CREATE INDEX transactions_purchasing ON transactions (id) WHERE state = 'purchasing';
CREATE INDEX transactions_shared ON transactions (shared_from) WHERE shared_from IS NOT NULL;
CREATE TRIGGER transaction_revisions AFTER UPDATE OF state, expires, upgraded, revoked, application_username, license_ends ON transactions WHEN NEW.state = 'purchased' AND (OLD.state <> 'purchased' OR OLD.expires IS NOT NEW.expires OR OLD.upgraded IS NOT NEW.upgraded OR OLD.revoked IS NOT NEW.revoked OR OLD.application_username IS NOT NEW.application_username OR OLD.license_ends IS NOT NEW.license_ends)
BEGIN UPDATE transactions SET revision = 1 + coalesce( (SELECT max(revision) FROM transactions WHERE revision IS NOT NULL), 0) WHERE id = NEW.id; END;

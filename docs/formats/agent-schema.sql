CREATE TABLE arrivals (
  product TEXT PRIMARY KEY,
  entry TEXT NOT NULL,
  is_listed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE budget_periods (
  first_day INTEGER PRIMARY KEY,
  used INTEGER NOT NULL,
  mark INTEGER NOT NULL,
  is_current INTEGER NOT NULL,
  is_borrowed INTEGER NOT NULL,
  is_ahead INTEGER NOT NULL
) STRICT;

CREATE TABLE content_jobs (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  phase TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  problem TEXT,
  cause TEXT,
  failures INTEGER NOT NULL,
  renewals INTEGER NOT NULL,
  violations INTEGER NOT NULL,
  violated_since INTEGER,
  not_before INTEGER,
  grant_id TEXT NOT NULL,
  terms TEXT NOT NULL,
  bytes_verified INTEGER NOT NULL,
  bytes_received INTEGER NOT NULL,
  bytes_wasted INTEGER NOT NULL,
  failed_at INTEGER,
  bytes_reused INTEGER,
  losses INTEGER NOT NULL DEFAULT 0,
  sections TEXT NOT NULL DEFAULT '',
  bytes_needed INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE downloads (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  transaction_id TEXT NOT NULL,
  product TEXT NOT NULL,
  phase TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  problem TEXT,
  failures INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  grant_id TEXT,
  terms TEXT,
  bytes_verified INTEGER NOT NULL,
  bytes_received INTEGER NOT NULL,
  placed_at INTEGER,
  content_path TEXT,
  cause TEXT,
  not_before INTEGER,
  created_at INTEGER,
  ended_at INTEGER,
  bytes_reused INTEGER,
  losses INTEGER NOT NULL DEFAULT 0,
  urgency TEXT NOT NULL DEFAULT 'normal',
  wanted_by INTEGER,
  section TEXT,
  bytes_needed INTEGER,
  session TEXT,
  ignored TEXT
) STRICT;
CREATE INDEX downloads_by_end ON downloads (ended_at);
CREATE INDEX downloads_by_state ON downloads (state, sequence);
CREATE INDEX downloads_by_transaction ON downloads (transaction_id);
CREATE TRIGGER downloads_grant AFTER UPDATE OF grant_id ON downloads WHEN NEW.grant_id IS NOT NULL AND NEW.grant_id IS NOT OLD.grant_id
BEGIN INSERT INTO product_grants (product, grant_id) VALUES (NEW.product, NEW.grant_id) ON CONFLICT (product) DO UPDATE SET grant_id = excluded.grant_id; END;

CREATE TABLE feed (
  cursor TEXT NOT NULL
) STRICT;

CREATE TABLE highest_time (
  highest INTEGER,
  confirmed INTEGER,
  boot TEXT,
  uptime INTEGER NOT NULL,
  is_servers INTEGER NOT NULL,
  server_offset INTEGER NOT NULL
) STRICT;

CREATE TABLE library (
  product TEXT NOT NULL,
  version TEXT NOT NULL,
  path TEXT NOT NULL,
  digest TEXT NOT NULL,
  length INTEGER NOT NULL,
  placed_at INTEGER NOT NULL,
  title TEXT,
  manifest BLOB,
  manifest_digest TEXT,
  size_on_disk INTEGER NOT NULL DEFAULT 0,
  last_opened INTEGER,
  pinned INTEGER NOT NULL DEFAULT 0,
  damaged INTEGER NOT NULL DEFAULT 0,
  stamps BLOB,
  rolled_back INTEGER NOT NULL DEFAULT 0,
  sections TEXT,
  gone_back INTEGER NOT NULL DEFAULT 0,
  withdrawn INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (product, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE library_volume (
  id TEXT
) STRICT;

CREATE TABLE license_keys (
  service TEXT NOT NULL,
  key TEXT NOT NULL,
  place INTEGER NOT NULL,
  is_retired INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (service, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE licenses (
  service TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE listings (
  product TEXT PRIMARY KEY,
  title TEXT,
  cover TEXT,
  cover_url TEXT,
  locale TEXT,
  is_due INTEGER NOT NULL,
  publication TEXT,
  published INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE offered (
  product TEXT PRIMARY KEY,
  version TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ownership (
  product TEXT PRIMARY KEY,
  is_owned INTEGER NOT NULL,
  because TEXT,
  until INTEGER,
  as_of INTEGER NOT NULL,
  is_kept INTEGER NOT NULL DEFAULT 0,
  is_offered INTEGER NOT NULL DEFAULT 1,
  is_consumable INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE product_grants (
  product TEXT PRIMARY KEY,
  grant_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE publications (
  publication TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  locale TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE publisher_keys (
  product TEXT NOT NULL,
  key_id TEXT NOT NULL,
  PRIMARY KEY (product, key_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE reading (
  product TEXT PRIMARY KEY,
  modified INTEGER NOT NULL,
  version TEXT NOT NULL,
  page_name TEXT,
  document TEXT NOT NULL,
  told INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX reading_by_time ON reading (modified);

CREATE TABLE section_choices (
  product TEXT NOT NULL,
  section TEXT NOT NULL,
  wanted INTEGER NOT NULL,
  PRIMARY KEY (product, section)
) STRICT, WITHOUT ROWID;

CREATE TABLE services (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE transactions (
  id TEXT PRIMARY KEY,
  product TEXT NOT NULL,
  store_state TEXT NOT NULL,
  step TEXT NOT NULL,
  reason TEXT,
  problem TEXT,
  tries INTEGER NOT NULL,
  cause TEXT,
  not_before INTEGER,
  ended_at INTEGER,
  session TEXT,
  ignored TEXT,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX transactions_by_end ON transactions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX transactions_unfinished ON transactions (id) WHERE ended_at IS NULL;

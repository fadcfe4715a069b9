CREATE TABLE account_feeds (
  account TEXT NOT NULL CHECK (length(CAST(account AS BLOB)) <= 255),
  store TEXT NOT NULL,
  environment TEXT NOT NULL,
  original_id TEXT NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (account, store, environment, original_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX account_feeds_by_age ON account_feeds (since);
CREATE INDEX account_feeds_in_order ON account_feeds (account, environment, since);

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
CREATE INDEX approvals_by_age ON approvals (asked);
CREATE INDEX approvals_by_state ON approvals (state, id);
CREATE INDEX approvals_waiting ON approvals (expires) WHERE state = 'waiting';

CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT,
  product TEXT GENERATED ALWAYS AS ( CASE WHEN action LIKE 'product.%' OR action LIKE 'version.%' THEN substr(subject, 1, instr(subject || ' ', ' ') - 1) END) VIRTUAL,
  environment TEXT,
  about TEXT,
  about_product TEXT GENERATED ALWAYS AS (substr(about, 1, instr(about || ' ', ' ') - 1)) VIRTUAL
) STRICT;
CREATE INDEX audit_by_about ON audit (about_product, at) WHERE about_product IS NOT NULL;
CREATE INDEX audit_by_action ON audit (action, at);
CREATE INDEX audit_by_actor ON audit (actor, at);
CREATE INDEX audit_by_actor_and_action ON audit (actor, action, at);
CREATE INDEX audit_by_product ON audit (product, at);
CREATE INDEX audit_by_subject ON audit (subject);
CREATE INDEX audit_by_time ON audit (at);
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END;
CREATE TRIGGER audit_never_replaces BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END;
CREATE TRIGGER audit_never_shrinks BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END;

CREATE TABLE bought_products (
  product TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE catalogue_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  revision INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  price_tiers INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE console_sessions (
  digest BLOB PRIMARY KEY,
  key_digest BLOB NOT NULL,
  language TEXT NOT NULL,
  created INTEGER NOT NULL,
  used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX console_sessions_by_age ON console_sessions (created);
CREATE INDEX console_sessions_by_use ON console_sessions (used);

CREATE TABLE consumption_consents (
  grant_number INTEGER PRIMARY KEY,
  since INTEGER NOT NULL
) STRICT;

CREATE TABLE content_stops (
  digest BLOB PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE customer_aliases (
  alias BLOB PRIMARY KEY,
  customer BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX customer_aliases_by_customer ON customer_aliases (customer);

CREATE TABLE customer_devices (
  customer BLOB NOT NULL,
  device TEXT NOT NULL,
  first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  granted INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (customer, device)
) STRICT, WITHOUT ROWID;
CREATE INDEX customer_devices_by_age ON customer_devices (last_seen);
CREATE INDEX customer_devices_granted ON customer_devices (customer, last_seen) WHERE granted = 1;

CREATE TABLE delivered_bytes (
  grant_number INTEGER NOT NULL REFERENCES grants (number),
  node INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  last INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (grant_number, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE delivered_hours (
  hour INTEGER NOT NULL,
  node INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (hour, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE feed_items (
  feed INTEGER NOT NULL,
  product TEXT NOT NULL,
  kind TEXT NOT NULL,
  version TEXT,
  length INTEGER,
  transaction_id TEXT NOT NULL,
  not_before INTEGER,
  until INTEGER,
  sequence INTEGER NOT NULL,
  PRIMARY KEY (feed, product)
) STRICT, WITHOUT ROWID;

CREATE TABLE feeds (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  device TEXT NOT NULL,
  store TEXT NOT NULL,
  environment TEXT,
  customer BLOB,
  epoch INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  used INTEGER NOT NULL,
  UNIQUE (device, store, customer)
) STRICT;
CREATE INDEX feeds_by_customer ON feeds (customer) WHERE customer IS NOT NULL;
CREATE INDEX feeds_by_use ON feeds (used);
CREATE UNIQUE INDEX feeds_without_customer ON feeds (device, store) WHERE customer IS NULL;

CREATE TABLE google_purchases (
  store TEXT NOT NULL,
  token_digest BLOB NOT NULL,
  kind TEXT NOT NULL,
  environment TEXT NOT NULL,
  original_id TEXT,
  replaced INTEGER,
  PRIMARY KEY (store, token_digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE grant_events (
  id INTEGER PRIMARY KEY,
  grant_number INTEGER NOT NULL REFERENCES grants (number),
  state TEXT NOT NULL,
  at INTEGER NOT NULL,
  detail TEXT
) STRICT;
CREATE INDEX grant_events_by_grant ON grant_events (grant_number);

CREATE TABLE grants (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  store TEXT NOT NULL,
  transaction_id TEXT NOT NULL,
  product TEXT NOT NULL,
  version TEXT NOT NULL,
  device TEXT NOT NULL,
  public_key BLOB,
  digest BLOB NOT NULL,
  length INTEGER NOT NULL,
  manifest_digest BLOB NOT NULL,
  state TEXT NOT NULL,
  created INTEGER NOT NULL,
  revoked_by TEXT,
  placed INTEGER,
  handle BLOB NOT NULL DEFAULT x'',
  renewal_digest BLOB,
  operator_decision TEXT CHECK (operator_decision IN ('revoke', 'reinstate')),
  operator_as_of INTEGER,
  operator_excuses INTEGER,
  previous_renewal_digest BLOB,
  environment TEXT NOT NULL DEFAULT 'Sandbox'
) STRICT;
CREATE UNIQUE INDEX grants_by_device ON grants (device, product, transaction_id, store, environment, version);
CREATE UNIQUE INDEX grants_by_handle ON grants (handle);
CREATE UNIQUE INDEX grants_by_id ON grants (id);
CREATE INDEX grants_by_product ON grants (product, state);
CREATE INDEX grants_by_state ON grants (state);
CREATE INDEX grants_by_transaction ON grants (transaction_id);
CREATE INDEX grants_by_version ON grants (product, version, state);
CREATE INDEX grants_placed ON grants (product, device, placed, version) WHERE placed IS NOT NULL AND revoked_by IS NULL;
CREATE TRIGGER grants_count_delete AFTER DELETE ON grants
BEGIN UPDATE counters SET value = value - 1 WHERE name = 'grants ' || OLD.environment || ' ' || OLD.state; END;
CREATE TRIGGER grants_count_insert AFTER INSERT ON grants
BEGIN UPDATE counters SET value = value + 1 WHERE name = 'grants ' || NEW.environment || ' ' || NEW.state; END;
CREATE TRIGGER grants_count_update AFTER UPDATE OF state ON grants WHEN NEW.state <> OLD.state
BEGIN UPDATE counters SET value = value - 1 WHERE name = 'grants ' || OLD.environment || ' ' || OLD.state; UPDATE counters SET value = value + 1 WHERE name = 'grants ' || NEW.environment || ' ' || NEW.state; END;

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
CREATE INDEX idempotent_answers_by_actor ON idempotent_answers (actor, created);
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (created);

CREATE TABLE installation (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL
) STRICT;

CREATE TABLE irregularities (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  store TEXT NOT NULL,
  environment TEXT NOT NULL,
  subject TEXT NOT NULL,
  transaction_id TEXT NOT NULL,
  device TEXT,
  first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  UNIQUE (kind, store, environment, subject)
) STRICT;
CREATE INDEX irregularities_by_age ON irregularities (last_seen);
CREATE INDEX irregularities_by_kind ON irregularities (kind);
CREATE TRIGGER irregularities_count_delete AFTER DELETE ON irregularities
BEGIN UPDATE counters SET value = value - 1 WHERE name = 'irregularities ' || OLD.kind; END;
CREATE TRIGGER irregularities_count_insert AFTER INSERT ON irregularities
BEGIN INSERT INTO counters (name, value) VALUES ('irregularities ' || NEW.kind, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;

CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE license_keys (
  number INTEGER PRIMARY KEY,
  public_key BLOB NOT NULL,
  secret BLOB,
  seals INTEGER NOT NULL,
  endorsement TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE manifests (
  digest BLOB PRIMARY KEY,
  document BLOB NOT NULL
) STRICT;

CREATE TABLE nodes (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  process TEXT NOT NULL,
  address TEXT NOT NULL,
  version TEXT NOT NULL,
  started INTEGER NOT NULL,
  heartbeat INTEGER NOT NULL,
  gone INTEGER,
  answered INTEGER
) STRICT;

CREATE TABLE notification_history (
  store TEXT NOT NULL,
  environment TEXT NOT NULL,
  until INTEGER NOT NULL,
  recovered INTEGER NOT NULL,
  PRIMARY KEY (store, environment)
) STRICT, WITHOUT ROWID;

CREATE TABLE notifications (
  store TEXT NOT NULL,
  uuid TEXT NOT NULL,
  type TEXT NOT NULL,
  subtype TEXT,
  signed INTEGER NOT NULL,
  environment TEXT NOT NULL,
  transaction_id TEXT,
  effect TEXT NOT NULL,
  received INTEGER NOT NULL,
  PRIMARY KEY (store, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX notifications_by_date ON notifications (store, signed);

CREATE TABLE obligations (
  store TEXT NOT NULL,
  environment TEXT NOT NULL,
  transaction_id TEXT NOT NULL,
  device TEXT NOT NULL,
  product TEXT NOT NULL,
  PRIMARY KEY (store, environment, transaction_id, device, product)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  store TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt INTEGER NOT NULL,
  last_error TEXT,
  created INTEGER NOT NULL,
  done INTEGER,
  payload TEXT CHECK (length(CAST(payload AS BLOB)) <= 65536),
  refusals INTEGER NOT NULL DEFAULT 0,
  parked INTEGER,
  dropped INTEGER,
  leased_by TEXT,
  leased_until INTEGER,
  environment TEXT NOT NULL DEFAULT 'Sandbox',
  state TEXT NOT NULL GENERATED ALWAYS AS (CASE WHEN dropped IS NOT NULL THEN 'dropped' WHEN done IS NOT NULL THEN 'done' WHEN parked IS NOT NULL THEN 'parked' ELSE 'waiting' END) VIRTUAL,
  UNIQUE (store, kind, subject, environment)
) STRICT;
CREATE INDEX outbox_by_age ON outbox (state, store, created) WHERE done IS NULL;
CREATE INDEX outbox_by_state ON outbox (state, store, kind);
CREATE INDEX outbox_done ON outbox (done) WHERE done IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (store, next_attempt) WHERE done IS NULL AND parked IS NULL;
CREATE TRIGGER outbox_count_delete AFTER DELETE ON outbox WHEN OLD.done IS NULL
BEGIN UPDATE outbox_counts SET waiting = waiting - (OLD.parked IS NULL), parked = parked - (OLD.parked IS NOT NULL) WHERE store = OLD.store AND kind = OLD.kind; END;
CREATE TRIGGER outbox_count_insert AFTER INSERT ON outbox
BEGIN INSERT INTO outbox_counts (store, kind, waiting, parked) VALUES (NEW.store, NEW.kind, NEW.done IS NULL AND NEW.parked IS NULL, NEW.done IS NULL AND NEW.parked IS NOT NULL) ON CONFLICT (store, kind) DO UPDATE SET waiting = waiting + excluded.waiting, parked = parked + excluded.parked; END;
CREATE TRIGGER outbox_count_update AFTER UPDATE OF done, parked ON outbox
BEGIN UPDATE outbox_counts SET waiting = waiting + (NEW.done IS NULL AND NEW.parked IS NULL) - (OLD.done IS NULL AND OLD.parked IS NULL), parked = parked + (NEW.done IS NULL AND NEW.parked IS NOT NULL) - (OLD.done IS NULL AND OLD.parked IS NOT NULL) WHERE store = NEW.store AND kind = NEW.kind; END;

CREATE TABLE outbox_counts (
  store TEXT NOT NULL,
  kind TEXT NOT NULL,
  waiting INTEGER NOT NULL,
  parked INTEGER NOT NULL,
  PRIMARY KEY (store, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE package_checks (
  digest BLOB PRIMARY KEY,
  checked INTEGER NOT NULL,
  fault TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX package_checks_faults ON package_checks (digest) WHERE fault IS NOT NULL;

CREATE TABLE preview_contents (
  digest BLOB NOT NULL,
  media_type TEXT NOT NULL,
  content BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX preview_contents_by_digest ON preview_contents (digest);

CREATE TABLE previews (
  product TEXT NOT NULL,
  ordering TEXT NOT NULL,
  place INTEGER NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (product, ordering, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE price_tiers (
  name TEXT PRIMARY KEY,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE product_reviews (
  product TEXT PRIMARY KEY,
  notes TEXT,
  submitted INTEGER NOT NULL,
  submitted_by TEXT NOT NULL,
  decided INTEGER,
  decided_by TEXT,
  approved INTEGER,
  reason TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE product_screenshots (
  product TEXT NOT NULL,
  media_type TEXT NOT NULL,
  digest BLOB NOT NULL,
  content BLOB NOT NULL CHECK (length(content) <= 1048576)
) STRICT;
CREATE UNIQUE INDEX product_screenshots_by_product ON product_screenshots (product);

CREATE TABLE products (
  id TEXT PRIMARY KEY,
  document TEXT NOT NULL,
  type TEXT NOT NULL,
  publication TEXT,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  on_sale INTEGER NOT NULL DEFAULT 1,
  sale TEXT NOT NULL DEFAULT 'cleared',
  available_from INTEGER,
  available_until INTEGER,
  price_tier TEXT,
  first_released INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX products_by_price_tier ON products (price_tier) WHERE price_tier IS NOT NULL;
CREATE INDEX products_by_publication ON products (publication);
CREATE INDEX products_by_revision ON products (revision);
CREATE INDEX products_by_sale ON products (sale, id) WHERE sale <> 'cleared';
CREATE INDEX products_by_type ON products (type);

CREATE TABLE publications (
  id TEXT PRIMARY KEY,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE purchase_claims (
  store TEXT NOT NULL,
  environment TEXT NOT NULL,
  original_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  account TEXT NOT NULL CHECK (length(CAST(account AS BLOB)) <= 255),
  since INTEGER NOT NULL,
  PRIMARY KEY (store, environment, original_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX purchase_claims_by_account ON purchase_claims (account, environment, since);

CREATE TABLE reader_codes (
  name TEXT PRIMARY KEY,
  digest BLOB NOT NULL,
  challenge BLOB NOT NULL,
  request BLOB NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reader_keys (
  name TEXT PRIMARY KEY,
  customer BLOB NOT NULL,
  device TEXT NOT NULL,
  title TEXT NOT NULL,
  digest BLOB NOT NULL,
  territory TEXT,
  locale TEXT,
  created INTEGER NOT NULL,
  used INTEGER,
  sync_digest BLOB,
  changes INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX reader_keys_by_customer ON reader_keys (customer, created);

CREATE TABLE reader_tokens (
  digest BLOB PRIMARY KEY,
  name TEXT NOT NULL,
  code BLOB NOT NULL,
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reader_tokens_by_name ON reader_tokens (name, created);

CREATE TABLE reading_progress (
  customer BLOB NOT NULL,
  product TEXT NOT NULL,
  modified INTEGER NOT NULL,
  device TEXT NOT NULL,
  page INTEGER,
  millionths INTEGER,
  document TEXT NOT NULL,
  PRIMARY KEY (customer, product)
) STRICT, WITHOUT ROWID;
CREATE INDEX reading_progress_by_time ON reading_progress (customer, modified);

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

CREATE TABLE removed_products (
  id TEXT PRIMARY KEY,
  revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX removed_products_by_revision ON removed_products (revision);

CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  started INTEGER NOT NULL,
  ended INTEGER,
  died INTEGER,
  node INTEGER,
  heard INTEGER
) STRICT;
CREATE INDEX runs_died ON runs (died) WHERE died IS NOT NULL;

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

CREATE TABLE ticket_keys (
  id INTEGER PRIMARY KEY,
  secret BLOB NOT NULL,
  seals INTEGER NOT NULL,
  retired INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE transactions (
  store TEXT NOT NULL,
  environment TEXT NOT NULL,
  transaction_id TEXT NOT NULL,
  as_of INTEGER NOT NULL,
  revoked INTEGER,
  original_id TEXT,
  product TEXT,
  purchased INTEGER,
  expires INTEGER,
  grace_ends INTEGER,
  quantity INTEGER,
  price TEXT,
  currency TEXT,
  account TEXT CHECK (length(CAST(account AS BLOB)) <= 255),
  customer BLOB,
  license_ends INTEGER,
  application TEXT,
  territory TEXT,
  acknowledgement TEXT,
  acknowledgement_reference TEXT CHECK (length(CAST(acknowledgement_reference AS BLOB)) <= 8192),
  acknowledgement_due INTEGER,
  charging_ends INTEGER,
  length TEXT,
  origin TEXT,
  license_as_of INTEGER,
  PRIMARY KEY (store, environment, transaction_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX transactions_by_account ON transactions (store, environment, account) WHERE account IS NOT NULL;
CREATE INDEX transactions_by_acknowledgement ON transactions (store, acknowledgement_due) WHERE acknowledgement_due IS NOT NULL;
CREATE INDEX transactions_by_customer ON transactions (customer, purchased) WHERE customer IS NOT NULL;
CREATE INDEX transactions_by_end ON transactions (expires) WHERE expires IS NOT NULL;
CREATE INDEX transactions_by_original ON transactions (store, environment, original_id) WHERE original_id <> transaction_id;
CREATE INDEX transactions_by_purchase ON transactions (purchased) WHERE purchased IS NOT NULL;
CREATE INDEX transactions_by_refund ON transactions (revoked) WHERE revoked IS NOT NULL;
CREATE TRIGGER reader_keys_by_change AFTER UPDATE OF revoked, original_id, product, purchased, expires, grace_ends, quantity, customer, license_ends, application, charging_ends, length, origin ON transactions WHEN (NEW.revoked, NEW.original_id, NEW.product, NEW.purchased, NEW.expires, NEW.grace_ends, NEW.quantity, NEW.customer, NEW.license_ends, NEW.application, NEW.charging_ends, NEW.length, NEW.origin) IS NOT (OLD.revoked, OLD.original_id, OLD.product, OLD.purchased, OLD.expires, OLD.grace_ends, OLD.quantity, OLD.customer, OLD.license_ends, OLD.application, OLD.charging_ends, OLD.length, OLD.origin)
BEGIN UPDATE reader_keys SET changes = changes + 1 WHERE customer IN (OLD.customer, NEW.customer); END;
CREATE TRIGGER reader_keys_by_purchase AFTER INSERT ON transactions WHEN NEW.customer IS NOT NULL
BEGIN UPDATE reader_keys SET changes = changes + 1 WHERE customer = NEW.customer; END;

CREATE TABLE transferred_grants (
  grant_number INTEGER PRIMARY KEY REFERENCES grants (number) ON DELETE CASCADE,
  decided INTEGER NOT NULL,
  excuses INTEGER
) STRICT;
CREATE INDEX transferred_grants_by_excuse ON transferred_grants (excuses) WHERE excuses IS NOT NULL;

CREATE TABLE unconfirmed_grants (
  grant_number INTEGER PRIMARY KEY REFERENCES grants (number),
  proof INTEGER NOT NULL REFERENCES unconfirmed_proofs (id),
  since INTEGER NOT NULL
) STRICT;
CREATE INDEX unconfirmed_grants_by_proof ON unconfirmed_grants (proof);
CREATE TRIGGER unconfirmed_grants_count_delete AFTER DELETE ON unconfirmed_grants
BEGIN UPDATE counters SET value = value - 1 WHERE name = 'unconfirmed grants'; END;
CREATE TRIGGER unconfirmed_grants_count_insert AFTER INSERT ON unconfirmed_grants
BEGIN UPDATE counters SET value = value + 1 WHERE name = 'unconfirmed grants'; END;

CREATE TABLE unconfirmed_proofs (
  id INTEGER PRIMARY KEY,
  store TEXT NOT NULL,
  digest BLOB NOT NULL,
  proof BLOB NOT NULL,
  length INTEGER NOT NULL,
  since INTEGER NOT NULL,
  UNIQUE (store, digest)
) STRICT;
CREATE INDEX unconfirmed_proofs_by_store ON unconfirmed_proofs (store, id, length);
CREATE TRIGGER unconfirmed_proofs_count_delete AFTER DELETE ON unconfirmed_proofs
BEGIN UPDATE counters SET value = value - 1 WHERE name = 'unconfirmed proofs'; UPDATE counters SET value = value - OLD.length WHERE name = 'unconfirmed bytes'; END;
CREATE TRIGGER unconfirmed_proofs_count_insert AFTER INSERT ON unconfirmed_proofs
BEGIN UPDATE counters SET value = value + 1 WHERE name = 'unconfirmed proofs'; UPDATE counters SET value = value + NEW.length WHERE name = 'unconfirmed bytes'; END;

CREATE TABLE unlocked_issues (
  store TEXT NOT NULL,
  environment TEXT NOT NULL,
  transaction_id TEXT NOT NULL,
  product TEXT NOT NULL,
  is_back_issue INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (store, environment, transaction_id, product)
) STRICT, WITHOUT ROWID;

CREATE TABLE unneeded_blobs (
  digest BLOB PRIMARY KEY,
  since INTEGER NOT NULL,
  condemned INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE upload_parts (
  upload TEXT NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  digest BLOB NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (upload, start)
) STRICT, WITHOUT ROWID;

CREATE TABLE uploads (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  length INTEGER,
  metadata TEXT NOT NULL,
  digest BLOB,
  created INTEGER NOT NULL,
  touched INTEGER NOT NULL,
  awaits_end INTEGER NOT NULL DEFAULT 0,
  whole_digest BLOB,
  addressed INTEGER NOT NULL DEFAULT 1,
  reserved INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_age ON uploads (created, id);

CREATE TABLE verification_failures (
  product TEXT NOT NULL,
  version TEXT NOT NULL,
  device TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (product, version, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE version_signatures (
  product TEXT NOT NULL,
  version TEXT NOT NULL,
  key_id TEXT NOT NULL,
  public_key BLOB NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (product, version, key_id),
  FOREIGN KEY (product, version) REFERENCES versions (product, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE versions (
  product TEXT NOT NULL REFERENCES products (id),
  version TEXT NOT NULL,
  state TEXT NOT NULL,
  digest BLOB NOT NULL,
  length INTEGER NOT NULL,
  manifest_digest BLOB NOT NULL,
  pieces INTEGER NOT NULL,
  files INTEGER NOT NULL,
  cover TEXT,
  title TEXT,
  created INTEGER NOT NULL,
  released INTEGER,
  reason TEXT,
  ordering TEXT,
  percentage INTEGER,
  scheduled_at INTEGER,
  scheduled_percentage INTEGER,
  scheduled_by TEXT,
  submitted_by TEXT,
  approved_by TEXT,
  downloads_stopped INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (product, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX versions_by_digest ON versions (digest);
CREATE INDEX versions_by_state ON versions (state, product);
CREATE UNIQUE INDEX versions_for_all ON versions (product) WHERE state = 'released' AND percentage = 100;
CREATE UNIQUE INDEX versions_for_part ON versions (product) WHERE state = 'released' AND percentage < 100;
CREATE UNIQUE INDEX versions_in_order ON versions (product, ordering);
CREATE INDEX versions_scheduled ON versions (scheduled_at) WHERE scheduled_at IS NOT NULL;
CREATE INDEX versions_stopped ON versions (digest) WHERE downloads_stopped = 1;
CREATE TRIGGER versions_never_change BEFORE UPDATE OF product, version, ordering, digest, length, manifest_digest ON versions
BEGIN SELECT RAISE(ABORT, 'the content of a version never changes'); END;

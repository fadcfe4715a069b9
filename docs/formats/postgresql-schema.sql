CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'check_violation';
END
$$;

CREATE TABLE counters (
  name TEXT COLLATE "C" NOT NULL,
  stripe BIGINT NOT NULL DEFAULT 0,
  value BIGINT NOT NULL,
  PRIMARY KEY (name, stripe)
) WITH (fillfactor = 80);

CREATE FUNCTION own_stripe() RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
  first INTEGER := pg_backend_pid() % 64;
BEGIN
  FOR further IN 0..255 LOOP
    IF pg_try_advisory_xact_lock(1886745464, (first + further) % 256) THEN
      RETURN (first + further) % 256;
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

CREATE TABLE products (
  id TEXT COLLATE "C" PRIMARY KEY,
  document TEXT COLLATE "C" NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  publication TEXT COLLATE "C",
  created BIGINT NOT NULL,
  changed BIGINT NOT NULL,
  revision BIGINT NOT NULL DEFAULT 0,
  on_sale BIGINT NOT NULL DEFAULT 1,
  sale TEXT COLLATE "C" NOT NULL DEFAULT 'cleared',
  available_from BIGINT,
  available_until BIGINT,
  price_tier TEXT COLLATE "C",
  first_released BIGINT
);
CREATE INDEX products_by_price_tier ON products (price_tier) WHERE price_tier IS NOT NULL;
CREATE INDEX products_by_publication ON products (publication, id);
CREATE INDEX products_by_revision ON products (revision);
CREATE INDEX products_by_sale ON products (sale, id) WHERE sale <> 'cleared';
CREATE INDEX products_by_type ON products (type, id);

CREATE TABLE removed_products (
  id TEXT COLLATE "C" PRIMARY KEY,
  revision BIGINT NOT NULL
);
CREATE INDEX removed_products_by_revision ON removed_products (revision);

CREATE TABLE bought_products (
  product TEXT COLLATE "C" PRIMARY KEY
);

CREATE TABLE product_reviews (
  product TEXT COLLATE "C" PRIMARY KEY,
  notes TEXT COLLATE "C",
  submitted BIGINT NOT NULL,
  submitted_by TEXT COLLATE "C" NOT NULL,
  decided BIGINT,
  decided_by TEXT COLLATE "C",
  approved BIGINT,
  reason TEXT COLLATE "C"
);

CREATE TABLE product_screenshots (
  product TEXT COLLATE "C" NOT NULL,
  media_type TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  content BYTEA NOT NULL CHECK (octet_length(content) <= 1048576)
);
CREATE UNIQUE INDEX product_screenshots_by_product ON product_screenshots (product);

CREATE TABLE price_tiers (
  name TEXT COLLATE "C" PRIMARY KEY,
  document TEXT COLLATE "C" NOT NULL
);

CREATE TABLE publications (
  id TEXT COLLATE "C" PRIMARY KEY,
  document TEXT COLLATE "C" NOT NULL
);

CREATE TABLE catalogue_state (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  revision BIGINT NOT NULL,
  changed BIGINT NOT NULL,
  price_tiers BIGINT NOT NULL DEFAULT 0
);
INSERT INTO catalogue_state (id, revision, changed) VALUES (1, 1, 0);

CREATE TABLE versions (
  product TEXT COLLATE "C" NOT NULL REFERENCES products (id),
  version TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  length BIGINT NOT NULL,
  manifest_digest BYTEA NOT NULL,
  pieces BIGINT NOT NULL,
  files BIGINT NOT NULL,
  cover TEXT COLLATE "C",
  title TEXT COLLATE "C",
  created BIGINT NOT NULL,
  released BIGINT,
  reason TEXT COLLATE "C",
  ordering TEXT COLLATE "C",
  percentage BIGINT,
  scheduled_at BIGINT,
  scheduled_percentage BIGINT,
  scheduled_by TEXT COLLATE "C",
  submitted_by TEXT COLLATE "C",
  approved_by TEXT COLLATE "C",
  downloads_stopped BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (product, version)
);
CREATE INDEX versions_by_digest ON versions (digest);
CREATE INDEX versions_by_state ON versions (state, product);
CREATE UNIQUE INDEX versions_for_all ON versions (product) WHERE state = 'released' AND percentage = 100;
CREATE UNIQUE INDEX versions_for_part ON versions (product) WHERE state = 'released' AND percentage < 100;
CREATE UNIQUE INDEX versions_in_order ON versions (product, ordering);
CREATE INDEX versions_scheduled ON versions (scheduled_at, product, version) WHERE scheduled_at IS NOT NULL;
CREATE INDEX versions_stopped ON versions (digest) WHERE downloads_stopped = 1;
CREATE TRIGGER versions_never_change BEFORE UPDATE OF product, version, ordering, digest, length, manifest_digest ON versions
  FOR EACH ROW EXECUTE FUNCTION refuse_change('the content of a version never changes');

CREATE TABLE version_signatures (
  product TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  public_key BYTEA NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (product, version, key_id),
  FOREIGN KEY (product, version) REFERENCES versions (product, version) ON DELETE CASCADE
);

CREATE TABLE manifests (
  digest BYTEA PRIMARY KEY,
  document BYTEA NOT NULL
);

CREATE TABLE verification_failures (
  product TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  device TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (product, version, device)
);

CREATE TABLE previews (
  product TEXT COLLATE "C" NOT NULL,
  ordering TEXT COLLATE "C" NOT NULL,
  place BIGINT NOT NULL,
  digest BYTEA NOT NULL,
  PRIMARY KEY (product, ordering, place)
);

CREATE TABLE preview_contents (
  digest BYTEA NOT NULL,
  media_type TEXT COLLATE "C" NOT NULL,
  content BYTEA NOT NULL
);
CREATE UNIQUE INDEX preview_contents_by_digest ON preview_contents (digest);

CREATE TABLE uploads (
  id TEXT COLLATE "C" PRIMARY KEY,
  owner TEXT COLLATE "C" NOT NULL,
  length BIGINT,
  metadata TEXT COLLATE "C" NOT NULL,
  digest BYTEA,
  created BIGINT NOT NULL,
  touched BIGINT NOT NULL,
  awaits_end BIGINT NOT NULL DEFAULT 0,
  whole_digest BYTEA,
  addressed BIGINT NOT NULL DEFAULT 1,
  reserved BIGINT
);
CREATE INDEX uploads_by_age ON uploads (created, id);

CREATE TABLE upload_parts (
  upload TEXT COLLATE "C" NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
  start BIGINT NOT NULL,
  length BIGINT NOT NULL,
  digest BYTEA NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (upload, start)
);

CREATE TABLE content_stops (
  digest BYTEA PRIMARY KEY,
  at BIGINT NOT NULL
);

CREATE TABLE package_checks (
  digest BYTEA PRIMARY KEY,
  checked BIGINT NOT NULL,
  fault TEXT COLLATE "C"
);
CREATE INDEX package_checks_faults ON package_checks (digest) WHERE fault IS NOT NULL;

CREATE TABLE unneeded_blobs (
  digest BYTEA PRIMARY KEY,
  since BIGINT NOT NULL,
  condemned BIGINT
);

CREATE TABLE grants (
  number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL,
  store TEXT COLLATE "C" NOT NULL,
  transaction_id TEXT COLLATE "C" NOT NULL,
  product TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  device TEXT COLLATE "C" NOT NULL,
  public_key BYTEA,
  digest BYTEA NOT NULL,
  length BIGINT NOT NULL,
  manifest_digest BYTEA NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  created BIGINT NOT NULL,
  revoked_by TEXT COLLATE "C",
  placed BIGINT,
  handle BYTEA NOT NULL DEFAULT '\x'::bytea,
  renewal_digest BYTEA,
  operator_decision TEXT COLLATE "C" CHECK (operator_decision IN ('revoke', 'reinstate')),
  operator_as_of BIGINT,
  operator_excuses BIGINT,
  previous_renewal_digest BYTEA,
  environment TEXT COLLATE "C" NOT NULL DEFAULT 'Sandbox'
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX grants_by_device ON grants (device, product, transaction_id, store, environment, version);
CREATE UNIQUE INDEX grants_by_handle ON grants (handle);
CREATE UNIQUE INDEX grants_by_id ON grants (id);
CREATE INDEX grants_by_product ON grants (product, state, number);
CREATE INDEX grants_by_state ON grants (state, number);
CREATE INDEX grants_by_transaction ON grants (transaction_id);
CREATE INDEX grants_by_version ON grants (product, version, state, number);
CREATE INDEX grants_placed ON grants (product, device, placed, version) WHERE placed IS NOT NULL AND revoked_by IS NULL;

CREATE FUNCTION grants_count_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('grants ' || NEW.environment || ' ' || NEW.state, 1);
  RETURN NULL;
END
$$;
CREATE TRIGGER grants_count_insert AFTER INSERT ON grants FOR EACH ROW EXECUTE FUNCTION grants_count_insert();

CREATE FUNCTION grants_count_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('grants ' || OLD.environment || ' ' || OLD.state, -1);
  PERFORM add_to_counter('grants ' || NEW.environment || ' ' || NEW.state, 1);
  RETURN NULL;
END
$$;
CREATE TRIGGER grants_count_update AFTER UPDATE OF state ON grants FOR EACH ROW WHEN (NEW.state <> OLD.state)
  EXECUTE FUNCTION grants_count_update();

CREATE FUNCTION grants_count_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('grants ' || OLD.environment || ' ' || OLD.state, -1);
  RETURN NULL;
END
$$;
CREATE TRIGGER grants_count_delete AFTER DELETE ON grants FOR EACH ROW EXECUTE FUNCTION grants_count_delete();

CREATE TABLE grant_events (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  grant_number BIGINT NOT NULL REFERENCES grants (number),
  state TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  detail TEXT COLLATE "C"
);
CREATE INDEX grant_events_by_grant ON grant_events (grant_number, id);

CREATE TABLE delivered_bytes (
  grant_number BIGINT NOT NULL REFERENCES grants (number),
  node BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  last BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (grant_number, node)
) WITH (fillfactor = 80);

CREATE TABLE delivered_hours (
  hour BIGINT NOT NULL,
  node BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  PRIMARY KEY (hour, node)
) WITH (fillfactor = 80);

CREATE TABLE obligations (
  store TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  transaction_id TEXT COLLATE "C" NOT NULL,
  device TEXT COLLATE "C" NOT NULL,
  product TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (store, environment, transaction_id, device, product)
);

CREATE TABLE transferred_grants (
  grant_number BIGINT PRIMARY KEY REFERENCES grants (number) ON DELETE CASCADE,
  decided BIGINT NOT NULL,
  excuses BIGINT
);
CREATE INDEX transferred_grants_by_excuse ON transferred_grants (excuses) WHERE excuses IS NOT NULL;

CREATE TABLE consumption_consents (
  grant_number BIGINT PRIMARY KEY,
  since BIGINT NOT NULL
);

CREATE TABLE remembered_proofs (
  store TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  device TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  transactions TEXT COLLATE "C" NOT NULL,
  good BIGINT NOT NULL,
  PRIMARY KEY (store, digest, device)
);
CREATE INDEX remembered_proofs_by_age ON remembered_proofs (good);

CREATE TABLE unconfirmed_proofs (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  store TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  proof BYTEA NOT NULL,
  length BIGINT NOT NULL,
  since BIGINT NOT NULL,
  UNIQUE (store, digest)
);
CREATE INDEX unconfirmed_proofs_by_store ON unconfirmed_proofs (store, id, length);

CREATE FUNCTION unconfirmed_proofs_count_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('unconfirmed proofs', 1);
  PERFORM add_to_counter('unconfirmed bytes', NEW.length);
  RETURN NULL;
END
$$;
CREATE TRIGGER unconfirmed_proofs_count_insert AFTER INSERT ON unconfirmed_proofs
  FOR EACH ROW EXECUTE FUNCTION unconfirmed_proofs_count_insert();

CREATE FUNCTION unconfirmed_proofs_count_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('unconfirmed proofs', -1);
  PERFORM add_to_counter('unconfirmed bytes', -OLD.length);
  RETURN NULL;
END
$$;
CREATE TRIGGER unconfirmed_proofs_count_delete AFTER DELETE ON unconfirmed_proofs
  FOR EACH ROW EXECUTE FUNCTION unconfirmed_proofs_count_delete();

CREATE TABLE unconfirmed_grants (
  grant_number BIGINT PRIMARY KEY REFERENCES grants (number),
  proof BIGINT NOT NULL REFERENCES unconfirmed_proofs (id),
  since BIGINT NOT NULL
);
CREATE INDEX unconfirmed_grants_by_proof ON unconfirmed_grants (proof);

CREATE FUNCTION unconfirmed_grants_count_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('unconfirmed grants', 1);
  RETURN NULL;
END
$$;
CREATE TRIGGER unconfirmed_grants_count_insert AFTER INSERT ON unconfirmed_grants
  FOR EACH ROW EXECUTE FUNCTION unconfirmed_grants_count_insert();

CREATE FUNCTION unconfirmed_grants_count_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('unconfirmed grants', -1);
  RETURN NULL;
END
$$;
CREATE TRIGGER unconfirmed_grants_count_delete AFTER DELETE ON unconfirmed_grants
  FOR EACH ROW EXECUTE FUNCTION unconfirmed_grants_count_delete();

CREATE TABLE transactions (
  store TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  transaction_id TEXT COLLATE "C" NOT NULL,
  as_of BIGINT NOT NULL,
  revoked BIGINT,
  original_id TEXT COLLATE "C",
  product TEXT COLLATE "C",
  purchased BIGINT,
  expires BIGINT,
  grace_ends BIGINT,
  quantity BIGINT,
  price TEXT COLLATE "C",
  currency TEXT COLLATE "C",
  account TEXT COLLATE "C" CHECK (octet_length(account) <= 255),
  customer BYTEA,
  license_ends BIGINT,
  application TEXT COLLATE "C",
  territory TEXT COLLATE "C",
  acknowledgement TEXT COLLATE "C",
  acknowledgement_reference TEXT COLLATE "C" CHECK (octet_length(acknowledgement_reference) <= 8192),
  acknowledgement_due BIGINT,
  charging_ends BIGINT,
  length TEXT COLLATE "C",
  origin TEXT COLLATE "C",
  license_as_of BIGINT,
  PRIMARY KEY (store, environment, transaction_id)
) WITH (fillfactor = 90);
CREATE INDEX transactions_by_account ON transactions (store, environment, account) WHERE account IS NOT NULL;
CREATE INDEX transactions_by_acknowledgement ON transactions (store, acknowledgement_due) WHERE acknowledgement_due IS NOT NULL;
CREATE INDEX transactions_by_customer ON transactions (customer, purchased NULLS FIRST) WHERE customer IS NOT NULL;
CREATE INDEX transactions_by_end ON transactions (expires) WHERE expires IS NOT NULL;
CREATE INDEX transactions_by_original ON transactions (store, environment, original_id) WHERE original_id <> transaction_id;
CREATE INDEX transactions_by_purchase ON transactions (purchased) WHERE purchased IS NOT NULL;
CREATE INDEX transactions_by_refund ON transactions (revoked) WHERE revoked IS NOT NULL;

CREATE FUNCTION reader_keys_by_purchase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE reader_keys SET changes = changes + 1 WHERE customer = NEW.customer;
  RETURN NULL;
END
$$;
CREATE TRIGGER reader_keys_by_purchase AFTER INSERT ON transactions
FOR EACH ROW WHEN (NEW.customer IS NOT NULL) EXECUTE FUNCTION reader_keys_by_purchase();

CREATE FUNCTION reader_keys_by_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE reader_keys SET changes = changes + 1 WHERE customer IN (OLD.customer, NEW.customer);
  RETURN NULL;
END
$$;
CREATE TRIGGER reader_keys_by_change
AFTER UPDATE OF revoked, original_id, product, purchased, expires, grace_ends, quantity, customer, license_ends, application, charging_ends, length, origin ON transactions
FOR EACH ROW WHEN ((NEW.revoked, NEW.original_id, NEW.product, NEW.purchased, NEW.expires, NEW.grace_ends, NEW.quantity, NEW.customer, NEW.license_ends, NEW.application, NEW.charging_ends, NEW.length, NEW.origin)
  IS DISTINCT FROM (OLD.revoked, OLD.original_id, OLD.product, OLD.purchased, OLD.expires, OLD.grace_ends, OLD.quantity, OLD.customer, OLD.license_ends, OLD.application, OLD.charging_ends, OLD.length, OLD.origin))
EXECUTE FUNCTION reader_keys_by_change();

CREATE TABLE unlocked_issues (
  store TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  transaction_id TEXT COLLATE "C" NOT NULL,
  product TEXT COLLATE "C" NOT NULL,
  is_back_issue BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (store, environment, transaction_id, product)
);

CREATE TABLE google_purchases (
  store TEXT COLLATE "C" NOT NULL,
  token_digest BYTEA NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  original_id TEXT COLLATE "C",
  replaced BIGINT,
  PRIMARY KEY (store, token_digest)
);

CREATE TABLE customer_devices (
  customer BYTEA NOT NULL,
  device TEXT COLLATE "C" NOT NULL,
  first_seen BIGINT NOT NULL,
  last_seen BIGINT NOT NULL,
  granted BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (customer, device)
);
CREATE INDEX customer_devices_by_age ON customer_devices (last_seen);
CREATE INDEX customer_devices_granted ON customer_devices (customer, last_seen) WHERE granted = 1;

CREATE TABLE customer_aliases (
  alias BYTEA PRIMARY KEY,
  customer BYTEA NOT NULL
);
CREATE INDEX customer_aliases_by_customer ON customer_aliases (customer);

CREATE TABLE reader_keys (
  name TEXT COLLATE "C" PRIMARY KEY,
  customer BYTEA NOT NULL,
  device TEXT COLLATE "C" NOT NULL,
  title TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  territory TEXT COLLATE "C",
  locale TEXT COLLATE "C",
  created BIGINT NOT NULL,
  used BIGINT,
  sync_digest BYTEA,
  changes BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX reader_keys_by_customer ON reader_keys (customer, created);

CREATE TABLE reader_codes (
  name TEXT COLLATE "C" PRIMARY KEY,
  digest BYTEA NOT NULL,
  challenge BYTEA NOT NULL,
  request BYTEA NOT NULL,
  expires BIGINT NOT NULL
);

CREATE TABLE reader_tokens (
  digest BYTEA PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  code BYTEA NOT NULL,
  created BIGINT NOT NULL
);
CREATE INDEX reader_tokens_by_name ON reader_tokens (name, created, digest);

CREATE TABLE reading_progress (
  customer BYTEA NOT NULL,
  product TEXT COLLATE "C" NOT NULL,
  modified BIGINT NOT NULL,
  device TEXT COLLATE "C" NOT NULL,
  page BIGINT,
  millionths BIGINT,
  document TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (customer, product)
);
CREATE INDEX reading_progress_by_time ON reading_progress (customer, modified, product);

CREATE TABLE purchase_claims (
  store TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  original_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  account TEXT COLLATE "C" NOT NULL CHECK (octet_length(account) <= 255),
  since BIGINT NOT NULL,
  PRIMARY KEY (store, environment, original_id, position)
);
CREATE INDEX purchase_claims_by_account ON purchase_claims (account, environment, since);

CREATE TABLE account_feeds (
  account TEXT COLLATE "C" NOT NULL CHECK (octet_length(account) <= 255),
  store TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  original_id TEXT COLLATE "C" NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (account, store, environment, original_id)
);
CREATE INDEX account_feeds_by_age ON account_feeds (since);
CREATE INDEX account_feeds_in_order ON account_feeds (account, environment, since);

CREATE TABLE irregularities (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL,
  store TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  transaction_id TEXT COLLATE "C" NOT NULL,
  device TEXT COLLATE "C",
  first_seen BIGINT NOT NULL,
  last_seen BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  UNIQUE (kind, store, environment, subject)
);
CREATE INDEX irregularities_by_age ON irregularities (last_seen);
CREATE INDEX irregularities_by_kind ON irregularities (kind, id);

CREATE FUNCTION irregularities_count_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('irregularities ' || NEW.kind, 1);
  RETURN NULL;
END
$$;
CREATE TRIGGER irregularities_count_insert AFTER INSERT ON irregularities
  FOR EACH ROW EXECUTE FUNCTION irregularities_count_insert();

CREATE FUNCTION irregularities_count_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_counter('irregularities ' || OLD.kind, -1);
  RETURN NULL;
END
$$;
CREATE TRIGGER irregularities_count_delete AFTER DELETE ON irregularities
  FOR EACH ROW EXECUTE FUNCTION irregularities_count_delete();

CREATE TABLE notifications (
  store TEXT COLLATE "C" NOT NULL,
  uuid TEXT COLLATE "C" NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  subtype TEXT COLLATE "C",
  signed BIGINT NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  transaction_id TEXT COLLATE "C",
  effect TEXT COLLATE "C" NOT NULL,
  received BIGINT NOT NULL,
  PRIMARY KEY (store, uuid)
);
CREATE INDEX notifications_by_date ON notifications (store, signed);

CREATE TABLE notification_history (
  store TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C" NOT NULL,
  until BIGINT NOT NULL,
  recovered BIGINT NOT NULL,
  PRIMARY KEY (store, environment)
);

CREATE TABLE feeds (
  number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  device TEXT COLLATE "C" NOT NULL,
  store TEXT COLLATE "C" NOT NULL,
  environment TEXT COLLATE "C",
  customer BYTEA,
  epoch BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  used BIGINT NOT NULL,
  UNIQUE (device, store, customer)
) WITH (fillfactor = 80);
CREATE INDEX feeds_by_customer ON feeds (customer) WHERE customer IS NOT NULL;
CREATE INDEX feeds_by_use ON feeds (used);
CREATE UNIQUE INDEX feeds_without_customer ON feeds (device, store) WHERE customer IS NULL;

CREATE TABLE feed_items (
  feed BIGINT NOT NULL,
  product TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C",
  length BIGINT,
  transaction_id TEXT COLLATE "C" NOT NULL,
  not_before BIGINT,
  until BIGINT,
  sequence BIGINT NOT NULL,
  PRIMARY KEY (feed, product)
) WITH (fillfactor = 90);

CREATE TABLE outbox (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  store TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  next_attempt BIGINT NOT NULL,
  last_error TEXT COLLATE "C",
  created BIGINT NOT NULL,
  done BIGINT,
  payload TEXT COLLATE "C" CHECK (octet_length(payload) <= 65536),
  refusals BIGINT NOT NULL DEFAULT 0,
  parked BIGINT,
  dropped BIGINT,
  leased_by TEXT COLLATE "C",
  leased_until BIGINT,
  environment TEXT COLLATE "C" NOT NULL DEFAULT 'Sandbox',
  state TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (CASE WHEN dropped IS NOT NULL THEN 'dropped'
    WHEN done IS NOT NULL THEN 'done' WHEN parked IS NOT NULL THEN 'parked' ELSE 'waiting' END) STORED,
  UNIQUE (store, kind, subject, environment)
) WITH (fillfactor = 85);
CREATE INDEX outbox_by_age ON outbox (state, store, created) WHERE done IS NULL;
CREATE INDEX outbox_by_state ON outbox (state, store, kind, id);
CREATE INDEX outbox_done ON outbox (done, id) WHERE done IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (store, next_attempt, id) WHERE done IS NULL AND parked IS NULL;

CREATE TABLE outbox_counts (
  store TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  stripe BIGINT NOT NULL DEFAULT 0,
  waiting BIGINT NOT NULL,
  parked BIGINT NOT NULL,
  PRIMARY KEY (store, kind, stripe)
) WITH (fillfactor = 80);

CREATE FUNCTION add_to_outbox_counts(call_store TEXT, call_kind TEXT, more_waiting INTEGER, more_parked INTEGER)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF more_waiting <> 0 OR more_parked <> 0 THEN
    INSERT INTO outbox_counts (store, kind, stripe, waiting, parked)
    VALUES (call_store, call_kind, own_stripe(), more_waiting, more_parked)
    ON CONFLICT (store, kind, stripe) DO UPDATE SET
      waiting = outbox_counts.waiting + excluded.waiting, parked = outbox_counts.parked + excluded.parked;
  END IF;
END
$$;

CREATE FUNCTION outbox_count_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_outbox_counts(NEW.store, NEW.kind,
    (NEW.done IS NULL AND NEW.parked IS NULL)::INTEGER, (NEW.done IS NULL AND NEW.parked IS NOT NULL)::INTEGER);
  RETURN NULL;
END
$$;
CREATE TRIGGER outbox_count_insert AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_count_insert();

CREATE FUNCTION outbox_count_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_outbox_counts(NEW.store, NEW.kind,
    (NEW.done IS NULL AND NEW.parked IS NULL)::INTEGER - (OLD.done IS NULL AND OLD.parked IS NULL)::INTEGER,
    (NEW.done IS NULL AND NEW.parked IS NOT NULL)::INTEGER - (OLD.done IS NULL AND OLD.parked IS NOT NULL)::INTEGER);
  RETURN NULL;
END
$$;
CREATE TRIGGER outbox_count_update AFTER UPDATE OF done, parked ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_count_update();

CREATE FUNCTION outbox_count_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_outbox_counts(
    OLD.store, OLD.kind, -(OLD.parked IS NULL)::INTEGER, -(OLD.parked IS NOT NULL)::INTEGER);
  RETURN NULL;
END
$$;
CREATE TRIGGER outbox_count_delete AFTER DELETE ON outbox FOR EACH ROW WHEN (OLD.done IS NULL)
  EXECUTE FUNCTION outbox_count_delete();

CREATE TABLE runs (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  started BIGINT NOT NULL,
  ended BIGINT,
  died BIGINT,
  node BIGINT,
  heard BIGINT
);
CREATE INDEX runs_died ON runs (died) WHERE died IS NOT NULL;

CREATE TABLE installation (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  name TEXT COLLATE "C" NOT NULL
);

CREATE TABLE leases (
  name TEXT COLLATE "C" PRIMARY KEY,
  holder TEXT COLLATE "C" NOT NULL,
  until BIGINT NOT NULL
);

CREATE TABLE idempotent_answers (
  actor TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  fingerprint BYTEA NOT NULL,
  status BIGINT NOT NULL,
  location TEXT COLLATE "C",
  body BYTEA NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (actor, key)
);
CREATE INDEX idempotent_answers_by_actor ON idempotent_answers (actor, created);
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (created);

CREATE TABLE console_sessions (
  digest BYTEA PRIMARY KEY,
  key_digest BYTEA NOT NULL,
  language TEXT COLLATE "C" NOT NULL,
  created BIGINT NOT NULL,
  used BIGINT NOT NULL
);
CREATE INDEX console_sessions_by_age ON console_sessions (created);
CREATE INDEX console_sessions_by_use ON console_sessions (used);

CREATE TABLE approvals (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  state TEXT COLLATE "C" NOT NULL,
  action TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C",
  affected BIGINT,
  scope TEXT COLLATE "C" NOT NULL,
  asked BIGINT NOT NULL,
  asked_by TEXT COLLATE "C" NOT NULL,
  asked_key BYTEA NOT NULL,
  expires BIGINT NOT NULL,
  decided BIGINT,
  decided_by TEXT COLLATE "C",
  outcome TEXT COLLATE "C",
  method TEXT COLLATE "C" NOT NULL,
  pattern TEXT COLLATE "C" NOT NULL,
  target TEXT COLLATE "C" NOT NULL,
  tag TEXT COLLATE "C",
  body BYTEA NOT NULL
);
CREATE INDEX approvals_by_state ON approvals (state, id);
CREATE INDEX approvals_by_age ON approvals (asked);
CREATE INDEX approvals_waiting ON approvals (expires) WHERE state = 'waiting';

CREATE TABLE audit (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  at BIGINT NOT NULL,
  actor TEXT COLLATE "C" NOT NULL,
  action TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  detail TEXT COLLATE "C",
  product TEXT COLLATE "C" GENERATED ALWAYS AS (CASE WHEN action ILIKE 'product.%' OR action ILIKE 'version.%'
    THEN substr(subject, 1, strpos(subject || ' ', ' ') - 1) END) STORED,
  environment TEXT COLLATE "C",
  about TEXT COLLATE "C",
  about_product TEXT COLLATE "C" GENERATED ALWAYS AS (substr(about, 1, strpos(about || ' ', ' ') - 1)) STORED
);
CREATE INDEX audit_by_about ON audit (about_product, at, id) WHERE about_product IS NOT NULL;
CREATE INDEX audit_by_action ON audit (action, at, id);
CREATE INDEX audit_by_actor ON audit (actor, at, id);
CREATE INDEX audit_by_actor_and_action ON audit (actor, action, at, id);
CREATE INDEX audit_by_product ON audit (product, at, id);
CREATE INDEX audit_by_subject ON audit (subject, id);
CREATE INDEX audit_by_time ON audit (at, id);
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
  FOR EACH ROW EXECUTE FUNCTION refuse_change('the audit log only grows');
CREATE TRIGGER audit_never_shrinks BEFORE DELETE ON audit
  FOR EACH ROW EXECUTE FUNCTION refuse_change('the audit log only grows');

CREATE FUNCTION audit_never_replaces() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM audit WHERE id = NEW.id) THEN
    RAISE EXCEPTION 'the audit log only grows' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER audit_never_replaces BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_never_replaces();

CREATE TABLE nodes (
  number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL UNIQUE,
  process TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  started BIGINT NOT NULL,
  heartbeat BIGINT NOT NULL,
  gone BIGINT,
  answered BIGINT
) WITH (fillfactor = 50);

CREATE TABLE stop_log (
  revision BIGINT PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL
);
CREATE TABLE stop_revision (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  revision BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE ticket_keys (
  id BIGINT PRIMARY KEY,
  secret BYTEA NOT NULL,
  seals BIGINT NOT NULL,
  retired BIGINT
);

CREATE TABLE license_keys (
  number BIGINT PRIMARY KEY,
  public_key BYTEA NOT NULL,
  secret BYTEA,
  seals BIGINT NOT NULL,
  endorsement TEXT COLLATE "C"
);

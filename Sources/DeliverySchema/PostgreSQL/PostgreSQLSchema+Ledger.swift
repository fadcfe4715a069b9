/// The ledger of purchases, their customers, and the words of stores about them.
extension PostgreSQLSchema {
  static let readers = """
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

    """

  /// The dates of a row's words change as often as its store repeats them: 90, since most rows are of purchases that are over.
  ///
  /// A customer's purchases are listed with the latest first and those without a date last: NULL is the smallest in that index, as it is
  /// for SQLite.
  static let ledger = """
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

    """

  static let customers = """
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

    """

  static let claims = """
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

    """

  static let notifications = """
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

    """
}

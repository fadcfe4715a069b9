/// The catalog: products, their versions, and what everyone may see of them.
extension PostgreSQLSchema {
  static let products = """
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

    """

  static let versions = """
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

    """

  static let previews = """
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

    """
}

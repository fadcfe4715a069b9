import Commerce
package import Database

/// The steps that brought the delivery server's tables to what they are, in their order. A migration that was
/// released is never changed; a new one is appended. The tables as they are now: docs/formats/schema.sql.
package enum Migrations {
  /// In the order in which they are applied. The place of each is its number, which the database keeps.
  package static let all = [
    firstTables, signatures, stops, uploadsAndCollection, releases, holders, bestsellers,
    // Before every migration that adds columns to the table of grants.
    numbers,
    contract, credentials, addressedUploads, packageChecks, outboxService,
    standings, previousSecrets, ledger, grace, publications, notifications, feeds,
    sale, salesReports, acknowledgements, claims, googlePurchases, entitlements,
    transfers, verificationFailures, applicationPurchases, backIssues, removedProducts,
    transferExcuses, lists, licenseDates, feedsOfCustomers, unconfirmedCounts, answersByTime, stoppedVersions,
    boughtProducts, feedItemsByProduct, claimsByAccount,
    firstReleases, nodes, installation, uploadParts, nodeAnswers, consoleSessions, readerKeys,
    readingProgress, deliveryTimes, approvals, readersGrants, readersLedgers, readersTokens,
    auditedProducts, licenseKeys, deliveredHours,
  ]

  private static let firstTables = Migration(
    "products, versions, uploads, grants, outbox, audit",
    script: """
      CREATE TABLE products (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL,
        type TEXT NOT NULL,
        publication TEXT,
        created INTEGER NOT NULL,
        changed INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      CREATE INDEX products_by_publication ON products (publication);

      CREATE TABLE versions (
        product TEXT NOT NULL REFERENCES products (id),
        version TEXT NOT NULL,
        state TEXT NOT NULL,
        digest BLOB NOT NULL,
        length INTEGER NOT NULL,
        manifest BLOB NOT NULL,
        manifest_digest BLOB NOT NULL,
        pieces INTEGER NOT NULL,
        files INTEGER NOT NULL,
        cover TEXT,
        title TEXT,
        created INTEGER NOT NULL,
        released INTEGER,
        reason TEXT,
        PRIMARY KEY (product, version)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX versions_by_digest ON versions (digest);

      CREATE TABLE uploads (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        length INTEGER,
        metadata TEXT NOT NULL,
        digest BLOB,
        created INTEGER NOT NULL,
        touched INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE grants (
        id TEXT PRIMARY KEY,
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
        delivered INTEGER NOT NULL DEFAULT 0,
        count_has_hole INTEGER NOT NULL DEFAULT 0,
        created INTEGER NOT NULL,
        UNIQUE (store, transaction_id, product, version, device)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX grants_by_content ON grants (device, digest);
      CREATE INDEX grants_by_age ON grants (created);

      CREATE TABLE grant_events (
        id INTEGER PRIMARY KEY,
        grant_id TEXT NOT NULL REFERENCES grants (id),
        state TEXT NOT NULL,
        at INTEGER NOT NULL,
        detail TEXT
      ) STRICT;
      CREATE INDEX grant_events_by_grant ON grant_events (grant_id);

      -- What a transaction owes a device: it is finished when each product has a completed grant.
      CREATE TABLE obligations (
        store TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        device TEXT NOT NULL,
        product TEXT NOT NULL,
        PRIMARY KEY (store, transaction_id, device, product)
      ) STRICT, WITHOUT ROWID;

      -- Calls that a store still has to hear, in order of their next attempt.
      CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        store TEXT NOT NULL,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        next_attempt INTEGER NOT NULL,
        last_error TEXT,
        created INTEGER NOT NULL,
        done INTEGER,
        UNIQUE (store, kind, subject)
      ) STRICT;
      CREATE INDEX outbox_waiting ON outbox (next_attempt) WHERE done IS NULL;

      -- One row a run of the server; without an end it died.
      CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        started INTEGER NOT NULL,
        ended INTEGER
      ) STRICT;

      CREATE TABLE audit (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        detail TEXT
      ) STRICT;
      """)

  private static let signatures = Migration(
    "publishers' signatures of manifests",
    script: """
      CREATE TABLE version_signatures (
        product TEXT NOT NULL,
        version TEXT NOT NULL,
        key_id TEXT NOT NULL,
        public_key BLOB NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (product, version, key_id),
        FOREIGN KEY (product, version) REFERENCES versions (product, version) ON DELETE CASCADE
      ) STRICT, WITHOUT ROWID;
      """)

  /// Adds who revoked a grant, and the packages that are not sent any more. Revocations of before are an
  /// operator's.
  private static let stops = Migration(
    "revocations by source, stopped contents",
    script: """
      -- 'operator' or 'store' while the grant is revoked.
      ALTER TABLE grants ADD COLUMN revoked_by TEXT;
      UPDATE grants SET revoked_by = 'operator' WHERE state LIKE 'revoked/%';
      CREATE INDEX grants_revoked ON grants (id) WHERE revoked_by IS NOT NULL;

      -- Packages that are not sent any more, whatever tickets are out.
      CREATE TABLE content_stops (
        digest BLOB PRIMARY KEY,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)

  /// Adds how an upload ends and its digest, and the blobs that nothing needs.
  private static let uploadsAndCollection = Migration(
    "ends and digests of uploads, unneeded blobs",
    script: """
      -- 1: a request that says so ends the upload, not its length alone.
      ALTER TABLE uploads ADD COLUMN awaits_end INTEGER NOT NULL DEFAULT 0;
      -- What the whole must add up to, where the client said so when it began.
      ALTER TABLE uploads ADD COLUMN whole_digest BLOB;

      -- Since when no version and no upload needs a blob; it goes when the grace period has passed.
      CREATE TABLE unneeded_blobs (
        digest BLOB PRIMARY KEY,
        since INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)

  /// Staged and scheduled releases, the keys that submitted and approved, and indexes for the operators'
  /// lists.
  private static let releases = Migration("releases, review by two keys, an audit log that only grows") {
    connection in
    for statement in releaseColumns { try connection.execute(statement) }
    let rows = try connection.query("SELECT product, version FROM versions")
    for row in rows {
      let version: ContentVersion = try row.identifier("version")
      try connection.execute(
        "UPDATE versions SET ordering = ? WHERE product = ? AND version = ?",
        [.text(version.orderingKey), .text(try row.text("product")), .text(try row.text("version"))])
    }
    for statement in releaseRules { try connection.execute(statement) }
  }

  /// The columns and what they hold for the rows that there are; run before ``releaseRules``.
  private static let releaseColumns = [
    // In a table of their own: beside the other columns, every look at a version would read its whole
    // manifest.
    "CREATE TABLE manifests (digest BLOB PRIMARY KEY, document BLOB NOT NULL) STRICT",
    "INSERT OR IGNORE INTO manifests (digest, document) SELECT manifest_digest, manifest FROM versions",
    "ALTER TABLE versions DROP COLUMN manifest",
    // ContentVersion.orderingKey: compares as the versions do.
    "ALTER TABLE versions ADD COLUMN ordering TEXT",
    // 1 to 100 while released, else NULL.
    "ALTER TABLE versions ADD COLUMN percentage INTEGER",
    "ALTER TABLE versions ADD COLUMN scheduled_at INTEGER",
    "ALTER TABLE versions ADD COLUMN scheduled_percentage INTEGER",
    "ALTER TABLE versions ADD COLUMN scheduled_by TEXT",
    "ALTER TABLE versions ADD COLUMN submitted_by TEXT",
    "ALTER TABLE versions ADD COLUMN approved_by TEXT",
    "ALTER TABLE versions ADD COLUMN downloads_stopped INTEGER NOT NULL DEFAULT 0",
    "UPDATE versions SET percentage = 100 WHERE state = 'released'",
    """
    UPDATE versions SET
      submitted_by = (SELECT actor FROM audit WHERE action = 'version.submit'
        AND subject = versions.product || ' ' || versions.version ORDER BY id DESC LIMIT 1),
      approved_by = (SELECT actor FROM audit WHERE action = 'version.approve'
        AND subject = versions.product || ' ' || versions.version ORDER BY id DESC LIMIT 1)
    """,
    // When the device last reported the content as placed.
    "ALTER TABLE grants ADD COLUMN placed INTEGER",
    """
    UPDATE grants SET placed = (SELECT max(at) FROM grant_events WHERE grant_id = grants.id AND state = 'completed')
    WHERE state IN ('completed', 'finished')
    """,
    // What product an entry is about, where its subject begins with one.
    """
    ALTER TABLE audit ADD COLUMN product TEXT GENERATED ALWAYS AS (
      CASE WHEN action LIKE 'product.%' OR action LIKE 'version.%'
        THEN substr(subject, 1, instr(subject || ' ', ' ') - 1) END) VIRTUAL
    """,
    // One row: counts the changes of what is for sale.
    """
    CREATE TABLE catalogue_state (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      revision INTEGER NOT NULL,
      changed INTEGER NOT NULL
    ) STRICT
    """,
    """
    INSERT INTO catalogue_state (id, revision, changed)
    SELECT 1, 1, max(coalesce((SELECT max(changed) FROM products), 0), coalesce((SELECT max(released) FROM versions), 0))
    """,
  ]

  /// The indexes and triggers that hold for these columns, once every row has its values.
  private static let releaseRules = [
    "CREATE UNIQUE INDEX versions_in_order ON versions (product, ordering)",
    // At most one version of a product for all, and at most one for a part of the devices.
    """
    CREATE UNIQUE INDEX versions_for_all ON versions (product) WHERE state = 'released' AND percentage = 100
    """,
    """
    CREATE UNIQUE INDEX versions_for_part ON versions (product) WHERE state = 'released' AND percentage < 100
    """,
    "CREATE INDEX versions_by_state ON versions (state, product)",
    "CREATE INDEX versions_scheduled ON versions (scheduled_at) WHERE scheduled_at IS NOT NULL",
    """
    CREATE TRIGGER versions_never_change
    BEFORE UPDATE OF product, version, ordering, digest, length, manifest_digest ON versions
    BEGIN SELECT RAISE(ABORT, 'the content of a version never changes'); END
    """,
    "CREATE INDEX products_by_type ON products (type)",
    "CREATE INDEX grants_by_product ON grants (product, created)",
    "CREATE INDEX grants_by_state ON grants (state, created)",
    "CREATE INDEX grants_placed ON grants (product, device, placed, version) WHERE placed IS NOT NULL",
    "CREATE INDEX audit_by_subject ON audit (subject)",
    "CREATE INDEX audit_by_product ON audit (product)",
    "CREATE INDEX audit_by_actor ON audit (actor)",
    "CREATE INDEX audit_by_action ON audit (action)",
    """
    CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END
    """,
    // INSERT OR REPLACE would remove a row without a word to the trigger below.
    """
    CREATE TRIGGER audit_never_replaces BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END
    """,
    """
    CREATE TRIGGER audit_never_shrinks BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END
    """,
  ]

  private static let holders = Migration(
    "devices that hold a version lawfully, versions by their number",
    script: """
      DROP INDEX grants_placed;
      CREATE INDEX grants_placed ON grants (product, device, placed, version)
        WHERE placed IS NOT NULL AND revoked_by IS NULL;
      -- Spellings of one number: 1 and 1.0.
      CREATE INDEX versions_by_number ON versions (ordering, version);
      """)

  /// Adds whether a client may know an upload's address; those of before may.
  private static let addressedUploads = Migration(
    "uploads whose address no client was told",
    script: "ALTER TABLE uploads ADD COLUMN addressed INTEGER NOT NULL DEFAULT 1;")

  private static let packageChecks = Migration(
    "when each package was last read, and what was wrong with it",
    script: """
      CREATE TABLE package_checks (
        digest BLOB PRIMARY KEY,
        checked INTEGER NOT NULL,
        fault TEXT
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX package_checks_faults ON package_checks (digest) WHERE fault IS NOT NULL;
      """)

  /// Adds the indexes that keep a product with most of the grants from slowing others down.
  private static let bestsellers = Migration(
    "grants by device and by transaction, revoked grants by age",
    script: """
      CREATE INDEX grants_by_device ON grants (device, product);
      CREATE INDEX grants_by_transaction ON grants (transaction_id);
      DROP INDEX grants_revoked;
      CREATE INDEX grants_revoked ON grants (created) WHERE revoked_by IS NOT NULL;
      """)
}

extension Migrations {
  /// Adds to the outbox what a service needs: payloads, refusals, parking, leases and counts
  /// (docs/decisions/0011).
  private static let outboxService = Migration(
    "calls to stores: payloads, refusals, parked and dropped ones, leases",
    script: """
      ALTER TABLE outbox ADD COLUMN payload TEXT CHECK (length(CAST(payload AS BLOB)) <= 65536);
      ALTER TABLE outbox ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
      -- Since when an operator has to ask for the next attempt.
      ALTER TABLE outbox ADD COLUMN parked INTEGER;
      -- When an operator decided that the call is not made; done then as well.
      ALTER TABLE outbox ADD COLUMN dropped INTEGER;
      -- The node that makes the call, and until when no other one does.
      ALTER TABLE outbox ADD COLUMN leased_by TEXT;
      ALTER TABLE outbox ADD COLUMN leased_until INTEGER;
      DROP INDEX outbox_waiting;
      CREATE INDEX outbox_waiting ON outbox (store, next_attempt) WHERE done IS NULL AND parked IS NULL;
      CREATE INDEX outbox_open ON outbox (id) WHERE done IS NULL;
      CREATE INDEX outbox_parked ON outbox (id) WHERE done IS NULL AND parked IS NOT NULL;
      CREATE INDEX outbox_dropped ON outbox (id) WHERE dropped IS NOT NULL;
      CREATE INDEX outbox_done ON outbox (done) WHERE done IS NOT NULL;

      -- How many calls wait, and how many are parked, kept by the triggers below.
      CREATE TABLE outbox_counts (
        store TEXT NOT NULL,
        kind TEXT NOT NULL,
        waiting INTEGER NOT NULL,
        parked INTEGER NOT NULL,
        PRIMARY KEY (store, kind)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO outbox_counts (store, kind, waiting, parked)
      SELECT store, kind, sum(done IS NULL AND parked IS NULL), sum(done IS NULL AND parked IS NOT NULL)
      FROM outbox GROUP BY store, kind;
      CREATE TRIGGER outbox_count_insert AFTER INSERT ON outbox
      BEGIN
        INSERT INTO outbox_counts (store, kind, waiting, parked)
        VALUES (NEW.store, NEW.kind, NEW.done IS NULL AND NEW.parked IS NULL, NEW.done IS NULL AND NEW.parked IS NOT NULL)
        ON CONFLICT (store, kind) DO UPDATE SET waiting = waiting + excluded.waiting, parked = parked + excluded.parked;
      END;
      CREATE TRIGGER outbox_count_update AFTER UPDATE OF done, parked ON outbox
      BEGIN
        UPDATE outbox_counts SET
          waiting = waiting + (NEW.done IS NULL AND NEW.parked IS NULL) - (OLD.done IS NULL AND OLD.parked IS NULL),
          parked = parked + (NEW.done IS NULL AND NEW.parked IS NOT NULL) - (OLD.done IS NULL AND OLD.parked IS NOT NULL)
        WHERE store = NEW.store AND kind = NEW.kind;
      END;
      CREATE TRIGGER outbox_count_delete AFTER DELETE ON outbox WHEN OLD.done IS NULL
      BEGIN
        UPDATE outbox_counts SET waiting = waiting - (OLD.parked IS NULL), parked = parked - (OLD.parked IS NOT NULL)
        WHERE store = OLD.store AND kind = OLD.kind;
      END;
      """)
}

extension ContentVersion {
  /// The components in eight hexadecimal digits each, without the zeros at the end: equal versions have equal
  /// keys, and keys order byte by byte as the versions do.
  package var orderingKey: String {
    let significant = components[..<((components.lastIndex { $0 != 0 } ?? -1) + 1)]
    return significant.map { component in
      let digits = String(component, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }
}

import Commerce
import Database

extension Schema {
  /// Release to a part of the devices and at a date; who submitted and who approved; lists that are found by an index.
  static let releases = Migration("releases, review by two keys, an audit log that only grows") {
    connection in
    for statement in columns { try connection.execute(statement) }
    let rows = try connection.query("SELECT product, version FROM versions")
    for row in rows {
      let version: ContentVersion = try row.identifier("version")
      try connection.execute(
        "UPDATE versions SET ordering = ? WHERE product = ? AND version = ?",
        [.text(version.orderingKey), .text(try row.text("product")), .text(try row.text("version"))])
    }
    for statement in rules { try connection.execute(statement) }
  }

  private static let columns = [
    // In a table of their own: beside the other columns, every look at a version would read its whole manifest.
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

  private static let rules = [
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
}

extension ContentVersion {
  /// The components in eight hexadecimal digits each, without the zeros at the end: equal versions have equal keys, and
  /// keys order byte by byte as the versions do.
  var orderingKey: String {
    let significant = components[..<((components.lastIndex { $0 != 0 } ?? -1) + 1)]
    return significant.map { component in
      let digits = String(component, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }
}

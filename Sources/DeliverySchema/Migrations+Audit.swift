import Database

extension Migrations {
  /// Adds to entries of the audit log which product or version they concern, where their subject is something else.
  static let auditedProducts = Migration(
    "products and versions that entries of the audit log concern besides their subjects",
    script: """
      -- The product, or the version of one as subjects name it, that an entry concerns whose subject is something else, such as a request
      -- for a second operator.
      ALTER TABLE audit ADD COLUMN about TEXT;
      ALTER TABLE audit ADD COLUMN about_product TEXT
        GENERATED ALWAYS AS (substr(about, 1, instr(about || ' ', ' ') - 1)) VIRTUAL;
      CREATE INDEX audit_by_about ON audit (about_product, at) WHERE about_product IS NOT NULL;
      """)
}

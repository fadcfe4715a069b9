import Database

extension Schema {
  static let holders = Migration(
    "devices that hold a version lawfully, versions by their number",
    script: """
      DROP INDEX grants_placed;
      CREATE INDEX grants_placed ON grants (product, device, placed, version)
        WHERE placed IS NOT NULL AND revoked_by IS NULL;
      -- Spellings of one number: 1 and 1.0.
      CREATE INDEX versions_by_number ON versions (ordering, version);
      """)
}

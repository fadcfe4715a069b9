import Database

extension Migrations {
  /// Adds the index by which a package is found to be stopped.
  static let stoppedVersions = Migration(
    "an index of the versions whose downloads were stopped",
    script: """
      CREATE INDEX versions_stopped ON versions (digest) WHERE downloads_stopped = 1;
      """)

  /// Adds when products were first released, as far as their versions and the audit log still tell it.
  static let firstReleases = Migration(
    "when each product was first released",
    script: """
      -- When a version of the product was released for the first time; NULL where none was. Kept when versions are released again.
      ALTER TABLE products ADD COLUMN first_released INTEGER;
      -- The log may have forgotten the first release, and versions tell only the last one of each.
      UPDATE products SET first_released = (
        SELECT min(at) FROM (
          SELECT min(released) AS at FROM versions WHERE versions.product = products.id
          UNION ALL
          SELECT min(at) FROM audit WHERE audit.product = products.id AND action = 'version.release') AS known);
      """)
}

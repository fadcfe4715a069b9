import Database

extension Migrations {
  /// Adds the devices that could not verify a version.
  static let verificationFailures = Migration(
    "devices that could not verify a release",
    script: """
      -- Each device once, since the version was released.
      CREATE TABLE verification_failures (
        product TEXT NOT NULL,
        version TEXT NOT NULL,
        device TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (product, version, device)
      ) STRICT, WITHOUT ROWID;
      """)
}

import Database

extension Migrations {
  static let stoppedVersions = Migration(
    "an index of the versions whose downloads were stopped",
    script: """
      CREATE INDEX versions_stopped ON versions (digest) WHERE downloads_stopped = 1;
      """)
}

extension ConnectionHandle {
  /// What must be set on every opening: none of it but WAL is kept in the file.
  func prepare(_ options: Database.Options) throws(DatabaseError) {
    let timeout = options.busyTimeout.components
    let milliseconds = timeout.seconds * 1000 + timeout.attoseconds / 1_000_000_000_000_000
    try configure(busyTimeoutInMilliseconds: Int32(clamping: milliseconds))
    let connection = Connection(self, mayWrite: true)
    let journal = try connection.first("PRAGMA journal_mode = WAL")
    guard journal?.values == [.text("wal")] else {
      throw DatabaseError(.cannotOpen, "the file system does not allow a write-ahead log")
    }
    try connection.execute("PRAGMA synchronous = \(options.durability.rawValue)")
    try connection.execute("PRAGMA foreign_keys = ON")
    // The log keeps the size of its largest transaction otherwise.
    try connection.execute("PRAGMA journal_size_limit = 4194304")
  }
}

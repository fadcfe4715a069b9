internal import CPostgreSQL
public import Database

/// Where a PostgreSQL database is, and as whom it is asked: a URL of libpq's, `postgresql://USER@HOST1,HOST2/DATABASE?…`. The password
/// stands in the URL, in the file that `passfile` names, in `~/.pgpass`, or in `PGPASSWORD`.
public struct PostgreSQLAddress: Hashable, Sendable, CustomStringConvertible {
  /// The longest URL that is read, in bytes; the parser of libpq gets nothing longer.
  private static let maximumLength = 4096

  /// libpq's settings by their names, those of the URL alone.
  let settings: [String: String]

  /// Reads a URL. Throws ``DatabaseError`` `cannotOpen` for what is none, with a sentence that does not repeat it.
  public init(_ url: String) throws(DatabaseError) {
    guard url.utf8.count <= Self.maximumLength,
      url.hasPrefix("postgresql://") || url.hasPrefix("postgres://"),
      !url.utf8.contains(0)
    else { throw DatabaseError(.cannotOpen, "an address of PostgreSQL begins with postgresql://", sql: "") }
    var message: UnsafeMutablePointer<CChar>?
    guard let parsed = unsafe PQconninfoParse(url, &message) else {
      defer { unsafe PQfreemem(message) }
      // The message may repeat a part of the URL, and with it a password.
      throw DatabaseError(.cannotOpen, "the address of PostgreSQL is not readable", sql: "")
    }
    defer { unsafe PQconninfoFree(parsed) }
    var settings: [String: String] = [:]
    var option = unsafe parsed
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        unsafe settings[String(cString: keyword)] = unsafe String(cString: value)
      }
      unsafe option += 1
    }
    self.settings = settings
  }

  /// Hosts, port and database, without user and password.
  public var description: String {
    let host = settings["host"] ?? settings["hostaddr"] ?? "a socket of this machine"
    return
      "\(settings["dbname"] ?? "the user's database") at \(host)\(settings["port"].map { " port \($0)" } ?? "")"
  }

  /// The settings of a connection: those of the URL, and what keeps a connection from waiting for a machine that is gone.
  /// The URL's own settings go before the defaults here, except for the encoding. The options for the server are appended
  /// to the URL's, so that the latter cannot undo them. Sorted by keyword.
  func settings(named application: String) -> [(keyword: String, value: String)] {
    var all = [
      "connect_timeout": "5", "target_session_attrs": "read-write", "tcp_user_timeout": "10000",
      "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
      "application_name": application,
    ]
    all.merge(settings) { _, own in own }
    all["client_encoding"] = "UTF8"
    all["options"] = (settings["options"].map { $0 + " " } ?? "") + Self.serverOptions
    return all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// A transaction of a node that was stopped in the middle ends, and with it its locks. A statement is planned once for a connection,
  /// and not for the values of each of its first five runs: there is no statement whose best plan depends on them, as SQLite, which
  /// never looks at them, would show.
  private static let serverOptions = """
    -c statement_timeout=50s -c idle_in_transaction_session_timeout=20s -c TimeZone=UTC -c DateStyle=ISO \
    -c plan_cache_mode=force_generic_plan
    """
}

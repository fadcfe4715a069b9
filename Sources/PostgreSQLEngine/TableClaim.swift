internal import Database
internal import Glibc

extension PostgreSQLOptions {
  /// How a process uses the tables of a schema, for as long as it runs.
  public enum Claim: Hashable, Sendable {
    /// No other process uses them meanwhile.
    case alone
    /// Others that share them use them as well.
    case shared
    /// A command that may run beside the servers that use them: it claims nothing.
    case none
  }
}

/// The claim of a process on the tables, an advisory lock of its session.
extension ServerHandle {
  /// The number of the one lock of a schema: those that share its tables share it, and one that is alone has it alone.
  private static let claimKey = "hashtextextended('pullbox use ' || current_schema(), 0)"

  /// Claims the tables for as long as the connection lasts. Returns the names of the connections that are in the way; none once the
  /// tables are claimed. A process that has just ended may hold them for a moment, which is waited for. The lock is tried
  /// every 100 ms for 5 seconds.
  func claim(_ claim: PostgreSQLOptions.Claim) throws(DatabaseError) -> [String] {
    let function: String
    switch claim {
    case .alone: function = "pg_try_advisory_lock"
    case .shared: function = "pg_try_advisory_lock_shared"
    case .none: return []
    }
    let end = ContinuousClock.now + .seconds(5)
    while true {
      if try executeAlone("SELECT \(function)(\(Self.claimKey))").first?.first == "t" { return [] }
      guard .now < end else { return try claimants() }
      usleep(100_000)
    }
  }

  /// Begins the use of the tables by a server. Throws ``DatabaseError`` `cannotOpen` with the names of those that use them already.
  func beginUse(_ claim: PostgreSQLOptions.Claim) throws(DatabaseError) {
    let others = try self.claim(claim)
    guard !others.isEmpty else { return }
    let names = others.joined(separator: ", ")
    switch claim {
    case .alone: throw DatabaseError(.cannotOpen, "\(names) uses these tables, and only one may", sql: "")
    case .shared, .none: throw DatabaseError(.cannotOpen, "\(names) has these tables for itself", sql: "")
    }
  }

  /// The names of the connections that have the lock.
  private func claimants() throws(DatabaseError) -> [String] {
    let rows = try executeAlone(
      """
      SELECT DISTINCT coalesce(application_name, 'another connection')
      FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (classid::bigint << 32) | objid::bigint = \(Self.claimKey)
      ORDER BY 1
      """)
    let names = rows.compactMap { $0.first.flatMap { $0 } }
    return names.isEmpty ? ["another connection"] : names
  }
}

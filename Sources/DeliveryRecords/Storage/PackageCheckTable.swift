package import CoreTypes
package import Crypto
package import Database
import PullboxAPI
package import ServiceAPI

/// When each package was last read, and what was wrong with it. Packages that were never read have no row. Its
/// functions run in the caller's transaction and throw ``DatabaseError``.
package enum PackageCheckTable {
  /// One package's last check.
  package struct Check: Hashable, Sendable {
    /// When the package was last read, by the wall clock.
    package var checked: Timestamp
    /// The fault that was found then; nil for a whole package.
    package var fault: PackageFault?
  }

  /// Returns the last check of every package that was ever read.
  package static func all(in connection: borrowing Connection) throws -> [SHA256Digest: Check] {
    var checks: [SHA256Digest: Check] = [:]
    for row in try connection.query("SELECT digest, checked, fault FROM package_checks") {
      checks[try row.digest("digest")] = Check(
        checked: try row.timestamp("checked"),
        fault: try row.optionalText("fault").map { PackageFault(rawValue: $0) })
    }
    return checks
  }

  /// Returns the package's fault; nil for one that is whole or was never read.
  package static func fault(
    of digest: SHA256Digest, in connection: borrowing Connection
  ) throws -> PackageFault? {
    try connection.first("SELECT fault FROM package_checks WHERE digest = ?", [.digest(digest)])?
      .optionalText("fault").map { PackageFault(rawValue: $0) }
  }

  /// Returns the packages with a fault, in no order. An index has them alone.
  package static func faulty(in connection: borrowing Connection) throws -> [SHA256Digest] {
    try connection.query(
      "SELECT digest FROM package_checks \(SQLDialect.index("package_checks_faults")) WHERE fault IS NOT NULL"
    ).map { try $0.digest("digest") }
  }

  /// Returns the number of packages with a fault.
  package static func countFaults(in connection: borrowing Connection) throws -> Int64 {
    try connection.first(
      """
      SELECT count(*) AS faults FROM package_checks \(SQLDialect.index("package_checks_faults"))
      WHERE fault IS NOT NULL
      """)?.integer("faults") ?? 0
  }

  /// Writes a check down, in place of the one before. Nil stands for a whole package.
  package static func record(
    _ fault: PackageFault?, of digest: SHA256Digest, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try noteChange(of: digest, isFaulty: fault != nil, at: now, in: connection)
    try connection.execute(
      """
      INSERT INTO package_checks (digest, checked, fault) VALUES (?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET checked = excluded.checked, fault = excluded.fault
      """, [.digest(digest), .timestamp(now), .optional(fault) { .text($0.rawValue) }])
  }

  /// For a package that is gone and that nothing needs.
  package static func remove(
    _ digest: SHA256Digest, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try noteChange(of: digest, isFaulty: false, at: now, in: connection)
    try connection.execute("DELETE FROM package_checks WHERE digest = ?", [.digest(digest)])
  }

  /// Other nodes are told where a package is set aside, or no longer.
  private static func noteChange(
    of digest: SHA256Digest, isFaulty: Bool, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    guard connection.isShared, try (fault(of: digest, in: connection) != nil) != isFaulty else { return }
    try StopLog.note(.content(digest), at: now, in: connection)
  }

  /// The packages of versions that are to have one. Without `keepsWithdrawn`, withdrawn versions are not.
  package static func expected(
    keepsWithdrawn: Bool, in connection: borrowing Connection
  ) throws -> Set<SHA256Digest> {
    let rows = try connection.query(
      "SELECT DISTINCT digest FROM versions WHERE ? = 1 OR state <> 'withdrawn'", [.boolean(keepsWithdrawn)])
    return Set(try rows.map { try $0.digest("digest") })
  }

  /// Whether the package is among ``expected(keepsWithdrawn:in:)``.
  package static func isExpected(
    _ digest: SHA256Digest, keepsWithdrawn: Bool, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 AS one FROM versions WHERE digest = ? AND (? = 1 OR state <> 'withdrawn') LIMIT 1",
      [.digest(digest), .boolean(keepsWithdrawn)]) != nil
  }
}

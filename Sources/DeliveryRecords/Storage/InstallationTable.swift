package import Database

/// The name that this installation has given itself: what it keeps elsewhere, in a bucket, bears it. It is in every backup.
package enum InstallationTable {
  /// Returns the name; `proposed`, where there is none yet.
  package static func identifier(
    proposed: String, in connection: borrowing Connection
  ) throws -> String {
    try connection.execute(
      "INSERT INTO installation (id, name) VALUES (1, ?) ON CONFLICT (id) DO NOTHING",
      [.text(proposed)])
    let row = try connection.first("SELECT name FROM installation WHERE id = 1")
    return try row?.text("name") ?? proposed
  }
}

package import Database
import DeliverySchema

/// The name that this installation has given itself: what it keeps elsewhere, in a bucket, bears it. It is in every backup.
package enum InstallationTable {
  /// Returns the name; `proposed`, where there is none yet.
  package static func identifier(
    proposed: String, in connection: borrowing Connection
  ) throws -> String {
    try connection.execute(
      "INSERT INTO installation (id, name) VALUES (1, ?) ON CONFLICT (id) DO NOTHING",
      [.text(proposed)])
    return try name(in: connection) ?? proposed
  }

  /// The version of a file's tables from which on there is a place for the name.
  package static let firstVersion = Migrations.firstVersionWithInstallation

  /// Nil where the installation has given itself none yet.
  package static func name(in connection: borrowing Connection) throws -> String? {
    try connection.first("SELECT name FROM installation WHERE id = 1")?.text("name")
  }
}

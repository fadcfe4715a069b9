import Database
import Foundation
package import PostgreSQLEngine

/// A PostgreSQL server for tests that need one besides files, named by `PULLBOX_TEST_POSTGRESQL`; without it they are left out.
package enum EmptyServer {
  /// The URL of the server's database; nil where there is none.
  package static let url = ProcessInfo.processInfo.environment["PULLBOX_TEST_POSTGRESQL"]

  /// The URL of a new schema, which has no tables.
  package static func makeSchema() throws -> String {
    guard let url else { throw DatabaseError(.cannotOpen, "PULLBOX_TEST_POSTGRESQL is not set", sql: "") }
    let name = "test_" + UUID().uuidString.replacing("-", with: "").lowercased()
    let options = "\(url.contains("?") ? "&" : "?")options=-csearch_path%3D"
    let database = try Database.open(
      try PostgreSQLAddress(url + options + "public"), schema: SchemaDefinition(version: 1, script: ""),
      options: PostgreSQLOptions(writers: 1, readers: 1))
    defer { database.close() }
    try database.writeBlocking(locking: []) { try $0.execute("CREATE SCHEMA \(name)") }
    return url + options + name
  }

  /// The address of a new schema, which has no tables.
  package static func address() throws -> PostgreSQLAddress { try PostgreSQLAddress(makeSchema()) }
}

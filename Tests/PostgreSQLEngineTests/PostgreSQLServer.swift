import Database
import Foundation
import PostgreSQLEngine

/// A PostgreSQL server for tests, and a schema of its own on it for each. `PULLBOX_TEST_POSTGRESQL` has the server's URL; without it
/// these tests are left out.
enum PostgreSQLServer {
  static let url = ProcessInfo.processInfo.environment["PULLBOX_TEST_POSTGRESQL"]
  static var isThere: Bool { url != nil }

  /// An address whose tables are nobody else's.
  static func emptyAddress() throws -> PostgreSQLAddress {
    guard let url else { throw DatabaseError(.cannotOpen, "PULLBOX_TEST_POSTGRESQL is not set", sql: "") }
    let name = "test_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
    let handle = try Database.open(
      try PostgreSQLAddress(url + options("public", url)),
      schema: SchemaDefinition(version: 1, script: ""), options: PostgreSQLOptions(writers: 1, readers: 1))
    try handle.writeBlocking(locking: []) { try $0.execute("CREATE SCHEMA \(name)") }
    handle.close()
    return try PostgreSQLAddress(url + options(name, url))
  }

  private static func options(_ schema: String, _ url: String) -> String {
    "\(url.contains("?") ? "&" : "?")options=-csearch_path%3D\(schema)"
  }
}

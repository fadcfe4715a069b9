import CoreTypes
package import Database
import DeliveryRecords
import DeliverySchema
import Foundation
package import PostgreSQLEngine

/// The databases of these tests: `PULLBOX_TEST_DATABASE=twice` lets every body of a write run twice,
/// `PULLBOX_TEST_DATABASE=interleaved` lets another one run in between as well. Then a body that has an effect outside
/// its connection, or decides by what it kept from its first run, fails its tests. A URL of PostgreSQL lets every server of these tests
/// keep its records there, in a schema of its own. With `PULLBOX_TEST_PREFETCH=checked` what is prefetched there is compared
/// with what there is when it is used.
package enum TestDatabase {
  package static let options: Database.Options = {
    var options = Database.Options(reserve: .mebibytes(4), rehearsal: rehearsal(named: name))
    options.checksPrefetched = ProcessInfo.processInfo.environment["PULLBOX_TEST_PREFETCH"] == "checked"
    return options
  }()

  /// The tables of a delivery server on PostgreSQL.
  package static let schema = SchemaDefinition(
    version: PostgreSQLSchema.version, script: PostgreSQLSchema.script)

  /// Whether records lie in PostgreSQL. Tests that look into a file of SQLite are left out then: at the plans and the steps of its
  /// statements, at tables of earlier schemas, at copies of it, or at what is done while it cannot write.
  package static var isOnServer: Bool { serverURL != nil }

  private static let name = ProcessInfo.processInfo.environment["PULLBOX_TEST_DATABASE"]
  private static let serverURL = name.flatMap { $0.hasPrefix("postgresql://") ? $0 : nil }

  private static func rehearsal(named name: String?) -> Database.Options.Rehearsal {
    switch name {
    case nil, "", "plain": .none
    case "twice": .twice
    case "interleaved": .interleaved
    case let name? where name.hasPrefix("postgresql://"): .none
    case let name?:
      preconditionFailure("PULLBOX_TEST_DATABASE is plain, twice, interleaved or a URL, not \(name)")
    }
  }

  /// The URL of a schema that belongs to the directory at `path`; nil where records lie in files. The schema is made where it is not there.
  package static func url(for path: String) throws -> String? {
    guard let serverURL else { return nil }
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    let name = "test_" + String(hash, radix: 16)
    try schemas.writeBlocking(locking: []) { try $0.execute("CREATE SCHEMA IF NOT EXISTS \(name)") }
    return serverURL + (serverURL.contains("?") ? "&" : "?") + "options=-csearch_path%3D\(name)"
  }

  /// A database of its own, in which schemas are made.
  private static let schemas: Database = {
    do {
      return try Database.open(
        try PostgreSQLAddress(serverURL ?? ""), schema: SchemaDefinition(version: 1, script: ""),
        options: PostgreSQLOptions(writers: 1, readers: 1))
    } catch {
      preconditionFailure("the server of PULLBOX_TEST_DATABASE cannot be used: \(error)")
    }
  }()
}

import CoreTypes
package import Database
import DeliveryRecords
import Foundation
import PullboxTesting

/// A server's database in a directory of a test's own. Everything that was opened is closed before the directory goes.
package final class StateFile {
  private let directory: TemporaryDirectory
  private var opened: [Database] = []

  package init() throws {
    directory = try TemporaryDirectory()
  }

  deinit {
    for database in opened { database.close() }
  }

  /// With all migrations and the options of ``TestDatabase``, unless others are given.
  package func open(_ migrations: [Migration]? = nil, options: Database.Options? = nil) throws -> Database {
    let database = try Database.open(
      path: directory.path("server.db"), migrations: migrations ?? Migrations.all,
      options: options ?? TestDatabase.options)
    opened.append(database)
    return database
  }
}

/// The databases of these tests: `PULLBOX_TEST_DATABASE=twice` lets every body of a write run twice,
/// `PULLBOX_TEST_DATABASE=interleaved` lets another one run in between as well. Then a body that has an effect outside
/// its connection, or decides by what it kept from its first run, fails its tests.
package enum TestDatabase {
  package static let options = Database.Options(
    reserve: .mebibytes(4),
    rehearsal: rehearsal(named: ProcessInfo.processInfo.environment["PULLBOX_TEST_DATABASE"]))

  private static func rehearsal(named name: String?) -> Database.Options.Rehearsal {
    switch name {
    case nil, "", "plain": .none
    case "twice": .twice
    case "interleaved": .interleaved
    case let name?: preconditionFailure("PULLBOX_TEST_DATABASE is plain, twice or interleaved, not \(name)")
    }
  }
}

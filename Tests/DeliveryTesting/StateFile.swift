import CoreTypes
package import Database
import DeliveryRecords
import PostgreSQLEngine
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
    if migrations == nil, options == nil, let url = try TestDatabase.url(for: directory.path) {
      let database = try Database.open(
        try PostgreSQLAddress(url), schema: TestDatabase.schema, options: PostgreSQLOptions(writers: 4, readers: 2))
      opened.append(database)
      return database
    }
    let database = try Database.open(
      path: directory.path("server.db"), migrations: migrations ?? Migrations.all,
      options: options ?? TestDatabase.options)
    opened.append(database)
    return database
  }
}

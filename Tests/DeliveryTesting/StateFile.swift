import CoreTypes
package import Database
import DeliveryRecords
import DeliverySchema
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
      var connections = PostgreSQLOptions(writers: 4, readers: 2)
      connections.checksPrefetched = TestDatabase.options.checksPrefetched
      let database = try Database.open(
        try PostgreSQLAddress(url), schema: TestDatabase.schema, options: connections)
      opened.append(database)
      return database
    }
    if migrations == nil, opened.isEmpty { try NewDatabase.put(into: directory.path) }
    let database = try Database.open(
      path: directory.path("server.db"), migrations: migrations ?? Migrations.all,
      options: options ?? TestDatabase.options)
    opened.append(database)
    return database
  }
}

/// A server's database as its first start makes it. The migrations are a third of a short test's work, so they run once in a process of
/// tests, and each test gets a copy of the file.
package enum NewDatabase {
  private static let template = Result { try make() }

  private static func make() throws -> DirectoryTemplate {
    let directory = try TemporaryDirectory()
    try Database.open(path: directory.path("server.db"), migrations: Migrations.all).close()
    return try withExtendedLifetime(directory) { try DirectoryTemplate(reading: directory.path) }
  }

  /// Puts `server.db` into the directory at `path`, and makes that unless it is there. Blocks. Throws what opening a database throws,
  /// or `SystemError`, also where there is such a file.
  package static func put(into path: String) throws { try template.get().copy(to: path) }
}

import Database
import PullboxTesting

@testable import DeliveryService

/// A server's database in a directory of a test's own. Everything that was opened is closed before the directory goes.
final class StateFile {
  private let directory: TemporaryDirectory
  private var opened: [Database] = []

  init() throws {
    directory = try TemporaryDirectory()
  }

  deinit {
    for database in opened { database.close() }
  }

  func open(_ migrations: [Migration] = Migrations.all) throws -> Database {
    let database = try Database.open(path: directory.path("server.db"), migrations: migrations)
    opened.append(database)
    return database
  }
}

import CoreTypes
import Database
import PullboxTesting
import SandboxRecords

@testable import SandboxStore

/// The slow part of a store's first start, done once in a process of tests: each test gets a copy.
enum NewStore {
  private static let database = Result { try makeDatabase() }
  private static let keys = Result { try makeKeys() }

  private static func makeDatabase() throws -> DirectoryTemplate {
    let directory = try TemporaryDirectory()
    let path = StoreStateDirectory(path: directory.path).databasePath
    try Database.open(path: path, migrations: StoreSchema.migrations).close()
    return try withExtendedLifetime(directory) { try DirectoryTemplate(reading: directory.path) }
  }

  private static func makeKeys() throws -> DirectoryTemplate {
    let directory = try TemporaryDirectory()
    let state = StoreStateDirectory(path: directory.path)
    let clock = SystemWallClock()
    _ = try state.authority(now: clock.now())
    _ = try state.googleAuthority(clock: clock)
    return try withExtendedLifetime(directory) { try DirectoryTemplate(reading: directory.path) }
  }

  /// Puts a database with all migrations into the directory at `path`. Blocks.
  static func putDatabase(into path: String) throws { try database.get().copy(to: path) }

  /// Puts the keys of receipts and of the Google interface, five of RSA, into the directory at `path`, and makes that unless it is
  /// there. Blocks.
  static func putKeys(into path: String) throws { try keys.get().copy(to: path) }
}

import Database
import DeliveryRecords
import DeliverySchema
import PostgreSQLEngine
import ServiceRuntime

extension DeliveryConfiguration {
  private static let connections = 1...64

  /// Where the records lie: nil for the file in the state directory. Throws ``ConfigurationError`` for an address that is none, and
  /// numbers of connections that are out of their range.
  func databaseAddress() throws(ConfigurationError) -> PostgreSQLAddress? {
    guard Self.connections.contains(databaseWriters) else {
      throw ConfigurationError(subject: "databaseWriters", message: "a number from 1 to 64 is expected here")
    }
    guard Self.connections.contains(databaseReaders) else {
      throw ConfigurationError(subject: "databaseReaders", message: "a number from 1 to 64 is expected here")
    }
    return try Self.address(ofDatabase: database?.revealed)
  }

  /// The address of a URL; nil for none. Throws ``ConfigurationError`` for a text that is no address.
  static func address(ofDatabase url: String?) throws(ConfigurationError) -> PostgreSQLAddress? {
    guard let url else { return nil }
    do {
      return try PostgreSQLAddress(url)
    } catch {
      throw ConfigurationError(subject: "database", message: error.message)
    }
  }

  /// The other users of the tables of a database on PostgreSQL: nodes where packages lie in a store, which all of them reach.
  func claimOfDatabase() -> PostgreSQLOptions.Claim { packages == nil ? .alone : .shared }

  /// The place of the state. Throws as ``databaseAddress()`` does.
  func statePlace() throws(ConfigurationError) -> StatePlace {
    StatePlace(directory: state, database: try databaseAddress(), store: try packageStorePlace())
  }

  /// Opens the records. `options` are those of a file, `claim` says who else may use those of a server. Blocks. Throws ``ConfigurationError`` where the server of the database refuses this
  /// one or does not answer, and what the database or the system throws.
  func openDatabase(_ options: Database.Options, claim: PostgreSQLOptions.Claim) throws -> Database {
    guard let address = try databaseAddress() else {
      return try Database.open(path: state + "/server.db", migrations: Migrations.all, options: options)
    }
    do {
      var connections = PostgreSQLOptions(
        application: "pullbox-server \(try nodeName())", writers: databaseWriters, readers: databaseReaders,
        longestWait: options.longestWait, claim: claim)
      connections.checksPrefetched = options.checksPrefetched
      return try Database.open(address, schema: PostgreSQLSchema.definition, options: connections)
    } catch let error as DatabaseError where error.code == .cannotOpen || error.code == .unavailable {
      // A primary that is away comes back, and the server is started again until it does.
      throw ConfigurationError(
        subject: "database", message: "\(address): \(error.message)", mayPass: error.code == .unavailable)
    }
  }
}

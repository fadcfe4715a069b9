import CoreTypes
import Database
import DeliveryRecords
import DeliverySchema
import Files
import PostgreSQLEngine
import PullboxAPI
import RecordTransfer
import ServiceRuntime
import SystemCalls

/// The place of a server's state: its directory, and a database on PostgreSQL where the records lie in one.
struct StatePlace: Hashable, Sendable {
  /// The state directory.
  let directory: String
  /// Nil where the records lie in `server.db` of the directory.
  var database: PostgreSQLAddress?
  /// The object store of the packages; nil where they lie in the directory.
  var store: PackageStorePlace?

  /// The file of the records, where they lie in one.
  var file: String { directory + "/server.db" }

  /// Opens the records to read them as a whole, beside servers that go on. Blocks. Throws ``StateCareError``: `noState`, `damaged`, and
  /// `unreachable` where the server of the database does not take the connection, or its tables are of another program.
  func openRecords(for command: String) throws -> OpenRecords {
    guard let database else {
      try StateFiles.requireDatabase(in: directory)
      return .file(file)
    }
    let transfer = try Self.connect(to: database, for: command)
    let known = PostgreSQLSchema.definition.latest
    guard let found = try transfer.version() else {
      throw StateCareError(.noState, "\(transfer.name): there are no records")
    }
    guard found == known else {
      throw StateCareError(
        .unreachable,
        "\(transfer.name): its tables have version \(found), and this program knows \(known); a server of this program brings them up to date"
      )
    }
    return .server(transfer)
  }

  /// The name that the installation has given itself, by the records, beside servers that go on. Nil for an installation that has given itself no name yet. Blocks; throws as
  /// ``openRecords(for:)``.
  func installation(for command: String) throws -> String? {
    let records = try openRecords(for: command)
    return try records.read { connection in
      if case .file = records, try connection.schemaVersion() < InstallationTable.firstVersion { return nil }
      return try InstallationTable.name(in: connection)
    }
  }

  /// A connection for a command of that name. Throws ``StateCareError`` `unreachable`.
  static func connect(to database: PostgreSQLAddress, for command: String) throws(StateCareError)
    -> TableTransfer
  {
    do {
      return try TableTransfer(database, application: "pullbox-server \(command)")
    } catch {
      throw StateCareError(.unreachable, "\(database): \(error.message)")
    }
  }

  /// Takes the records on PostgreSQL for this process alone. Throws ``StateCareError`` `inUse`, with the names of the servers that use them.
  static func claim(_ transfer: TableTransfer) throws {
    do throws(DatabaseError) {
      try transfer.claim()
    } catch {
      guard error.code == .busy else { throw error }
      throw StateCareError(.inUse, "\(transfer.name): \(error.message)")
    }
  }
}

extension OpenRecords {
  /// Throws ``StateCareError`` `moved` where the records of that state were moved away, or have not all come.
  func refuseMark(of place: StatePlace) throws {
    let (name, mark) =
      switch self {
      case .file: (place.directory, try MoveMark.read(in: place.directory))
      case .server(let transfer): (transfer.name, try transfer.mark())
      }
    if let refusal = mark?.refusal { throw StateCareError(.moved, "\(name): \(refusal)") }
  }
}

/// The mark of a move in a state directory, which speaks of the records in its `server.db`: `move.json`.
extension MoveMark {
  private static let fileName = "move.json"

  /// Nil where records were never moved from the file or to it.
  static func read(in state: String) throws -> MoveMark? {
    do {
      let bytes = try FileSystem.read("\(state)/\(fileName)", upTo: .kibibytes(16))
      return try APIJSON.decode(MoveMark.self, from: bytes)
    } catch let error as SystemError where error.isFileMissing {
      return nil
    }
  }

  /// Writes the mark in place of one that is there; it is on the device when this returns. The server's user reads it, also where root has
  /// written it.
  func write(in state: String, operations: any FileOperations = SystemFileOperations()) throws {
    let bytes = try APIJSON.encode(self)
    try DurableFile.write(
      bytes.span, to: "\(state)/\(Self.fileName)", permissions: 0o644, operations: operations)
  }

  /// Throws ``StateDirectoryError`` `damaged` where the records of the directory's file were moved away, or have not all come.
  static func refuse(in state: String) throws {
    guard let refusal = try read(in: state)?.refusal else { return }
    throw StateDirectoryError(.damaged, path: state, message: refusal)
  }
}

import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import Files
import PostgreSQLEngine
import PullboxAPI
import RecordTransfer
import ServiceRuntime
import SystemCalls

extension StatePlace {
  /// The place that `text` names: a state directory, or a configuration, which `configuration` reads. Throws `UsageError` where there is
  /// neither, and what `configuration` throws.
  init(
    named text: String, configuration: (String) throws -> DeliveryConfiguration
  ) throws {
    guard let status = try FileSystem.status(of: text) else {
      throw UsageError("\(text): there is neither a state directory nor a configuration file")
    }
    guard status.kind == .directory else {
      let named = try configuration(text).statePlace()
      self.init(
        directory: try Self.realPath(named.directory), database: named.database, store: named.store)
      return
    }
    self.init(directory: try Self.realPath(text))
  }

  /// One spelling for one directory. It is made where a configuration names one that is not there.
  private static func realPath(_ directory: String) throws(SystemError) -> String {
    try FileSystem.createDirectories(directory, permissions: 0o700)
    return try FileSystem.realPath(directory)
  }
}

/// A place of a move while no server uses it: its records and their mark.
struct MoveEnd {
  let place: StatePlace
  /// The database of the records; nil where they lie in a file.
  let transfer: TableTransfer?

  /// Opens the place for this process alone. Throws ``StateCareError``: `inUse`, with the names of servers, and `unreachable`.
  init(_ place: StatePlace) throws {
    self.place = place
    transfer = try place.database.map { try StatePlace.connect(to: $0, for: "move") }
    if let transfer { try StatePlace.claim(transfer) }
  }

  /// The place for people, and for the mark of the other one.
  var name: String { transfer?.name ?? place.directory }

  var records: OpenRecords { transfer.map { .server($0) } ?? .file(place.file) }

  /// The place as ``MovePlan`` sees it.
  func side(of tables: [RecordTable]) throws -> MovePlan.Side {
    guard let transfer else {
      return MovePlan.Side(
        name: name, mark: try MoveMark.read(in: place.directory),
        hasRecords: try FileSystem.status(of: place.file) != nil)
    }
    let names = tables.map(\.name).filter { $0 != "catalogue_state" }
    return MovePlan.Side(
      name: name, mark: try transfer.mark(), hasRecords: try transfer.firstWithRows(of: names) != nil)
  }

  /// Writes the mark; it is durable when this returns.
  func setMark(_ mark: MoveMark, operations: any FileOperations) throws {
    guard let transfer else { return try mark.write(in: place.directory, operations: operations) }
    try transfer.setMark(mark)
  }
}

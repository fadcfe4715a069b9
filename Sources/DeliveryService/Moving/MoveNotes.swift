import CoreTypes
import Files
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Says where the packages of a state directory lie, since they were moved: `packages.json` in it. No server starts there that would look
/// elsewhere.
struct PackagesMark: Codable, Hashable, Sendable {
  private static let name = "packages.json"

  /// The bucket and the prefix, as `packages` names them; nil for the directory itself.
  var location: String?
  /// When they were moved.
  var at: Timestamp

  /// Nil where packages were never moved.
  static func read(in state: String) throws -> PackagesMark? {
    do {
      let bytes = try FileSystem.read("\(state)/\(name)", upTo: .kibibytes(16))
      return try APIJSON.decode(PackagesMark.self, from: bytes)
    } catch let error as SystemError where error.isFileMissing {
      return nil
    }
  }

  /// Writes the mark in place of one that is there; it is on the device when this returns. The server's user reads it, also where root has
  /// written it.
  func write(in state: String, operations: any FileOperations) throws {
    let bytes = try APIJSON.encode(self)
    try DurableFile.write(
      bytes.span, to: "\(state)/\(Self.name)", permissions: 0o644, operations: operations)
  }

  /// Throws ``StateDirectoryError`` `damaged` where packages were moved to another place than `store`.
  static func refuse(in state: String, unless store: PackageStorePlace?) throws {
    guard let mark = try read(in: state), mark.location != store?.name else { return }
    let (place, remedy) =
      mark.location.map { ($0, "'packages' has to name it") } ?? (
        "the directory itself", "'packages' has to go"
      )
    throw StateDirectoryError(
      .damaged, path: state, message: "its packages were moved to \(place) at \(mark.at); \(remedy)")
  }
}

/// The name that an installation without one has claimed a bucket with: `installation.json` in its state directory, until its records have
/// it. A move that is given again claims the same bucket.
struct InstallationNote: Codable, Hashable, Sendable {
  private static let fileName = "installation.json"

  var name: String

  /// Nil where there is none.
  static func read(in state: String) throws -> InstallationNote? {
    do {
      let bytes = try FileSystem.read("\(state)/\(fileName)", upTo: .kibibytes(4))
      return try APIJSON.decode(InstallationNote.self, from: bytes)
    } catch let error as SystemError where error.isFileMissing {
      return nil
    }
  }

  /// Writes the note; it is on the device when this returns.
  func write(in state: String, operations: any FileOperations) throws {
    let bytes = try APIJSON.encode(self)
    try DurableFile.write(
      bytes.span, to: "\(state)/\(Self.fileName)", permissions: 0o600, operations: operations)
    try StateFiles.give("\(state)/\(Self.fileName)", toOwnerOf: state)
  }

  static func remove(from state: String, operations: any FileOperations) throws {
    try operations.remove("\(state)/\(fileName)")
  }
}

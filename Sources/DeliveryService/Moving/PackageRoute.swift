import BlobStore
import CoreTypes
import Crypto
import Files
import PullboxAPI
import RecordTransfer
import ServiceRuntime
import SystemCalls

/// The two ends of a move of packages, found to be usable: nothing but the claim of a bucket was written.
struct PackageRoute {
  let source: PlacedPackages
  let target: PlacedPackages
  /// The name that the bucket of the target bears; nil for a directory.
  var installation: String?

  /// Nil where both places have the same packages. Asks the stores, and takes the bucket of the target for the installation of the source. Throws
  /// ``ConfigurationError`` with the setting that is to be looked at, and what reading the records throws.
  init?(from source: StatePlace, to target: StatePlace, operations: any FileOperations) throws {
    guard
      source.store?.address != target.store?.address
        || (source.store == nil && source.directory != target.directory)
    else { return nil }
    for place in [source, target] where place.store == nil {
      try operations.createDirectories(place.directory + "/blobs", permissions: 0o700)
      try StateFiles.give(place.directory + "/blobs", toOwnerOf: place.directory)
    }
    self.source = try PlacedPackages(of: source)
    self.target = try PlacedPackages(of: target, operations: operations)
    let known = target.store == nil && source.store == nil ? nil : try source.installation(for: "move")
    if case .store(let store) = self.source, let known { try store.check(for: known) }
    guard case .store(let store) = self.target else { return }
    try store.ask()
    let name = try known ?? Self.note(in: source.directory, operations: operations)
    try store.claim(for: name)
    installation = name
  }

  /// The name for an installation that has given itself none: it is written down before a bucket bears it.
  private static func note(in state: String, operations: any FileOperations) throws -> String {
    if let note = try InstallationNote.read(in: state) { return note.name }
    let note = InstallationNote(name: RandomBytes.token(bits: 128))
    try note.write(in: state, operations: operations)
    return note.name
  }
}

extension StatePlace {
  /// The packages that the records refer to, beside servers that go on. Blocks; throws as ``openRecords(for:)``.
  func needs(for command: String) throws -> [SHA256Digest: PackageNeed] {
    try openRecords(for: command).read { try PackageNeed.all(in: $0) }
  }
}

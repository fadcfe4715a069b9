import CoreTypes
import Crypto
import Files
import PullboxAPI
import ServiceAPI
package import ServiceRuntime
import SystemCalls

/// The faults of packages that the database could not be told of. They stand in `package-faults.json` of the state directory as well, until they
/// are in the database, so that a restart forgets none.
package actor UnwrittenFaults {
  /// The name of the file in the state directory; there is none while every fault is written down.
  package static let fileName = "package-faults.json"
  /// The file that is read is this long at most: a fault takes less than 100 bytes.
  private static let longestFile = ByteCount.mebibytes(16)

  private struct Document: Codable {
    /// By the hexadecimal digits of the package's digest.
    var faults: [String: PackageFault]
  }

  /// Nil where nothing has to survive.
  private let path: String?
  private let log: Log
  private var faults: [SHA256Digest: PackageFault] = [:]
  /// The faults that the file names; nil before it was read.
  private var kept: [SHA256Digest: PackageFault]?
  private var isKeeping = false

  /// Reads no file yet. `state` is the state directory; nil for faults in memory alone.
  package init(state: String?, log: Log) {
    path = state.map { "\($0)/\(Self.fileName)" }
    self.log = log
  }

  /// The packages with such a fault, those of the run before among them.
  var packages: [SHA256Digest] {
    get async {
      await takeUp()
      return faults.keys.sorted { $0.hexadecimal < $1.hexadecimal }
    }
  }

  /// The fault of a package; nil for one whose fault was written down, or taken back.
  func fault(of digest: SHA256Digest) -> PackageFault? { faults[digest] }

  /// Keeps a fault. That the file cannot be written is logged; it is tried again with the next change.
  func keep(_ fault: PackageFault, of digest: SHA256Digest) async {
    await takeUp()
    faults[digest] = fault
    await write()
  }

  /// Forgets a fault that was written down, or is none any more.
  func forget(_ digest: SHA256Digest) async {
    await takeUp()
    guard faults.removeValue(forKey: digest) != nil else { return }
    await write()
  }

  /// Takes up what an earlier run has left, once.
  private func takeUp() async {
    guard let path, kept == nil else { return }
    let found: [SHA256Digest: PackageFault]
    do {
      found = try await BlockingPool.shared.run { try Self.read(path) }
    } catch {
      // What it said is lost; the next round over the packages finds it again.
      found = [:]
      log.error("the faults of packages of the last run cannot be read", ["error": LogValue(error)])
    }
    // Another call may have been quicker.
    guard kept == nil else { return }
    kept = found
    faults.merge(found) { newer, _ in newer }
  }

  /// Writes the file, one call at a time; a call that comes meanwhile leaves it to that one.
  private func write() async {
    guard let path, !isKeeping else { return }
    isKeeping = true
    defer { isKeeping = false }
    while kept != faults {
      let current = faults
      do {
        try await BlockingPool.shared.run { try Self.write(current, to: path) }
        kept = current
      } catch {
        return log.error("the faults of packages cannot be kept", ["error": LogValue(error)])
      }
    }
  }

  private static func read(_ path: String) throws -> [SHA256Digest: PackageFault] {
    do {
      let document = try APIJSON.decode(Document.self, from: FileSystem.read(path, upTo: longestFile))
      var faults: [SHA256Digest: PackageFault] = [:]
      for (name, fault) in document.faults {
        if let digest = SHA256Digest(hexadecimal: name) { faults[digest] = fault }
      }
      return faults
    } catch let error as SystemError where error.isFileMissing {
      return [:]
    }
  }

  private static func write(_ faults: [SHA256Digest: PackageFault], to path: String) throws {
    guard !faults.isEmpty else {
      try FileSystem.removeFile(path)
      return
    }
    let document = Document(
      faults: Dictionary(uniqueKeysWithValues: faults.map { ($0.key.hexadecimal, $0.value) }))
    let bytes = try APIJSON.encode(document)
    try DurableFile.write(bytes.span, to: path, permissions: 0o600)
  }
}

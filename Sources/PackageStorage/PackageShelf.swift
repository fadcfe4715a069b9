package import BlobStore
package import CoreTypes
package import Crypto
import Synchronization
import SystemCalls

/// Where packages lie, by the SHA-256 of their bytes: the only way by which publishing and delivery reach them. Bytes are
/// received into files of the node that began them; a shelf takes them from there once they are complete.
///
/// A package that is put there twice is there once, with the bytes that came last. Who has one open goes on reading it after it was
/// removed. `PackageShelfTests` holds every shelf to this.
package protocol PackageShelf: Sendable {
  /// Takes what was received; the incoming file is gone then. Throws `digestMismatch` where the bytes have another digest;
  /// when it throws, nothing is there that was not before, or the package is there, and the call may be repeated.
  @discardableResult
  func put(_ received: BlobWriter, as digest: SHA256Digest) async throws(BlobStoreError) -> BlobDescription

  /// The package as a file of this machine, all of whose bytes are there while the value lives. Throws `notFound`.
  func openWhole(_ digest: SHA256Digest) async throws(BlobStoreError) -> SharedFile

  /// The package as it lies there. Throws `notFound`.
  func reader(of digest: SHA256Digest) async throws(BlobStoreError) -> any PackageReader

  /// False when it was not there. Throws `inUse` while a backup is being taken.
  @discardableResult
  func remove(_ digest: SHA256Digest) async throws(BlobStoreError) -> Bool

  /// Every package and its length, in no order.
  func list() async throws(BlobStoreError) -> [SHA256Digest: ByteCount]

  /// Reads a package once and returns its digest, length and pieces. Throws `notFound`.
  func describe(_ digest: SHA256Digest) async throws(BlobStoreError) -> BlobDescription

  /// The length of all packages together; nil unless the shelf measures it.
  var storedLength: ByteCount? { get }
}

/// A directory of this machine.
extension BlobStore: PackageShelf {
  package func put(_ received: BlobWriter, as digest: SHA256Digest) async throws(BlobStoreError)
    -> BlobDescription
  {
    try await received.commit(expecting: digest)
  }

  package func openWhole(_ digest: SHA256Digest) async throws(BlobStoreError) -> SharedFile {
    SharedFile(try await open(digest))
  }

  package func reader(of digest: SHA256Digest) async throws(BlobStoreError) -> any PackageReader {
    try FileReader(try await open(digest))
  }
}

/// Reads a package that is a file of this machine.
private struct FileReader: PackageReader {
  private let file: SharedFile
  let identity: PackageIdentity
  let length: ByteCount

  init(_ file: consuming FileDescriptor) throws(BlobStoreError) {
    do throws(SystemError) {
      let status = try file.status()
      identity = PackageIdentity("\(status.inode) \(status.changed)")
      length = status.length
    } catch {
      throw BlobStoreError(.unreadable, "\(error)")
    }
    self.file = SharedFile(file)
  }

  func forgetCached() async {
    await BlockingPool.shared.run { [file] in file.file.forgetCached() }
  }

  func bytes(from position: ByteCount, upTo count: Int) async throws(BlobStoreError) -> [UInt8] {
    try await BlockingPool.shared.run { [file] () throws(BlobStoreError) -> [UInt8] in
      var bytes: [UInt8] = []
      do throws(SystemError) {
        try file.file.read(upTo: count, at: position, into: &bytes)
      } catch {
        throw BlobStoreError(.unreadable, "\(error)")
      }
      return bytes
    }
  }
}

/// Lets one task at a time put a package on the shelf or take it away. The database says what is decided; this keeps the
/// file and the decision together between two of its transactions.
package final class PackageLocks: Sendable {
  /// The tasks that wait, by the package that another one holds.
  private let held = Mutex<[SHA256Digest: [CheckedContinuation<Void, Never>]]>([:])

  /// No package is held.
  package init() {}

  /// Runs `body` while no other task works on that package; those that wait come in the order in which they asked.
  package func withLock<Value: Sendable>(
    _ digest: SHA256Digest, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
  ) async rethrows -> Value {
    await withCheckedContinuation { continuation in
      let isFree = held.locked { held in
        guard held[digest] != nil else {
          held[digest] = []
          return true
        }
        held[digest]?.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer { release(digest) }
    return try await body()
  }

  private func release(_ digest: SHA256Digest) {
    let next = held.locked { held -> CheckedContinuation<Void, Never>? in
      guard let waiting = held[digest], !waiting.isEmpty else {
        held[digest] = nil
        return nil
      }
      return held[digest]?.removeFirst()
    }
    next?.resume()
  }
}

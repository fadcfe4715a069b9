package import BlobStore
package import CoreTypes
package import Crypto
package import PackageStorage
import PullboxTesting
import Synchronization
import SystemCalls

/// A shelf that is not the directory where files are received, as one in another place would be: it takes the bytes from
/// there. A test can let removals wait, and fail.
package final class MemoryShelf: PackageShelf {
  private struct State {
    var packages: [SHA256Digest: [UInt8]] = [:]
    var removalFailure: BlobStoreError.Code?
    var afterReading: (@Sendable () async -> Void)?
    var isRepeated = false
    /// The readings that are wrong, by their packages.
    var misread: [SHA256Digest: Misreading] = [:]
  }

  /// A wrong reading of a package whose bytes are right.
  package enum Misreading: Sendable {
    /// A cache of the machine has other bytes, until it is forgotten.
    case cached
    /// The disk answers with other bytes, until it is told otherwise.
    case disk
  }

  private let state = Mutex(State())
  private let incoming: BlobStore
  private let directory: TemporaryDirectory
  /// Called after a removal was asked for and before it is done.
  private let beforeRemoval: @Sendable () async -> Void

  /// `incoming` is where files are received.
  package init(incoming: BlobStore, beforeRemoval: @escaping @Sendable () async -> Void = {}) throws {
    self.incoming = incoming
    self.beforeRemoval = beforeRemoval
    directory = try TemporaryDirectory()
  }

  /// Nil lets removals succeed again.
  package func failRemovals(as code: BlobStoreError.Code?) { state.withLock { $0.removalFailure = code } }

  /// Other bytes in place of the package's.
  package func set(_ bytes: [UInt8], as digest: SHA256Digest) {
    state.withLock { $0.packages[digest] = bytes }
  }

  /// Lets a package be read wrong, or right again.
  package func misread(_ digest: SHA256Digest, _ misreading: Misreading?) {
    state.withLock { $0.misread[digest] = misreading }
  }

  /// `body` is called after the bytes of a package were read and before they are returned: once, or each time.
  package func setAfterReading(isRepeated: Bool = false, _ body: @escaping @Sendable () async -> Void) {
    state.withLock { ($0.afterReading, $0.isRepeated) = (body, isRepeated) }
  }

  package func put(_ received: BlobWriter, as digest: SHA256Digest) async throws(BlobStoreError)
    -> BlobDescription
  {
    let blob = try await received.commit(expecting: digest)
    var bytes: [UInt8] = []
    do {
      let file = try await incoming.open(digest)
      try file.read(upTo: 1 << 20, at: .zero, into: &bytes)
    } catch {
      throw BlobStoreError(.notFound, "\(error)")
    }
    let all = bytes
    state.withLock { $0.packages[digest] = all }
    try await incoming.remove(digest)
    return blob
  }

  package func openWhole(_ digest: SHA256Digest) async throws(BlobStoreError) -> SharedFile {
    guard let bytes = state.withLock({ $0.packages[digest] }) else {
      throw BlobStoreError(.notFound, "there is no \(digest)")
    }
    let path = directory.path("\(digest.hexadecimal)-\(UInt64.random(in: 0 ... .max))")
    do {
      let file = try FileDescriptor.open(path, .readWrite, options: .create, permissions: 0o600)
      try file.write(bytes.span, at: .zero)
      return SharedFile(file)
    } catch {
      throw BlobStoreError(.notFound, "\(error)")
    }
  }

  package func reader(of digest: SHA256Digest) async throws(BlobStoreError) -> any PackageReader {
    guard let bytes = state.withLock({ $0.packages[digest] }) else {
      throw BlobStoreError(.notFound, "there is no \(digest)")
    }
    return MemoryReader(
      contents: bytes, isMisread: { [self] in state.withLock { $0.misread[digest] != nil } },
      forget: { [self] in
        state.withLock { if $0.misread[digest] == .cached { $0.misread[digest] = nil } }
      }
    ) { [self] in
      let body = state.withLock { state in
        defer { if !state.isRepeated { state.afterReading = nil } }
        return state.afterReading
      }
      await body?()
    }
  }

  package var storedLength: ByteCount? { nil }

  package func remove(_ digest: SHA256Digest) async throws(BlobStoreError) -> Bool {
    await beforeRemoval()
    if let code = state.withLock({ $0.removalFailure }) { throw BlobStoreError(code, "a test lets it fail") }
    return state.withLock { $0.packages.removeValue(forKey: digest) } != nil
  }

  package func list() async throws(BlobStoreError) -> [SHA256Digest: ByteCount] {
    state.withLock { $0.packages.mapValues { ByteCount($0.count) } }
  }

  package func describe(_ digest: SHA256Digest) async throws(BlobStoreError) -> BlobDescription {
    guard let bytes = state.withLock({ $0.packages[digest] }) else {
      throw BlobStoreError(.notFound, "there is no \(digest)")
    }
    var digests = PieceDigests()
    digests.update(bytes.span)
    return digests.finalize()
  }
}

private struct MemoryReader: PackageReader {
  let contents: [UInt8]
  let isMisread: @Sendable () -> Bool
  let forget: @Sendable () -> Void
  let didRead: @Sendable () async -> Void

  var identity: PackageIdentity { PackageIdentity("\(SHA256Digest.of(contents))") }
  var length: ByteCount { ByteCount(contents.count) }

  func forgetCached() async { forget() }

  func bytes(from position: ByteCount, upTo count: Int) async throws(BlobStoreError) -> [UInt8] {
    await didRead()
    let bytes = contents.dropFirst(Int(position.rawValue)).prefix(count)
    return isMisread() ? bytes.map { $0 ^ 1 } : Array(bytes)
  }
}

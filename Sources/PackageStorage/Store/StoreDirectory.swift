package import BlobStore
package import CoreTypes
package import Crypto
import Dispatch
import HTTPClient
package import ObjectStore
import Synchronization
import SystemCalls

/// The packages of an object store, for programs that work beside the servers that use it: what a `BlobDirectory` is for a directory. A
/// package comes with the bytes that its name says, or not at all. Every call blocks a thread of the caller's own, and none may be
/// made from a task.
///
/// ```swift
/// let packages = StoreDirectory(store)
/// try packages.copy(digest, to: BlobDirectory("/backup/incomplete"))
/// ```
package struct StoreDirectory: Sendable {
  private static let limit = ObjectReader.limit

  private let store: ObjectStore

  package init(_ store: ObjectStore) {
    self.store = store
  }

  /// Every package and its length, in no order, as far as the store's lists have them: they may lag behind.
  package func list() throws(BlobStoreError) -> [SHA256Digest: ByteCount] {
    try wait { [store] () throws(ObjectStoreError) in try await store.listPackages(within: Self.limit) }
  }

  /// Nil when there is no such package.
  package func length(of digest: SHA256Digest) throws(BlobStoreError) -> ByteCount? {
    try wait { [store] () throws(ObjectStoreError) in
      try await store.head(.package(digest), within: Self.limit)?.length
    }
  }

  /// Whether the bytes are those that the name says, by reading them; `didRead` is told of each part. Throws `notFound`.
  package func isWhole(
    _ digest: SHA256Digest, didRead: (ByteCount) -> Void = { _ in }
  ) throws(BlobStoreError) -> Bool {
    var reader = try reader(of: digest)
    var hasher = SHA256Hasher()
    while true {
      let bytes = try reader.next()
      if bytes.isEmpty { return hasher.finalize() == digest }
      hasher.update(bytes.span)
      didRead(ByteCount(bytes.count))
    }
  }

  /// Copies a package into a directory, in place of one that is there. Throws `notFound`, `digestMismatch` where the bytes are not
  /// those that the name says, `unreachable`, and what fails at the directory.
  package func copy(
    _ digest: SHA256Digest, to directory: BlobDirectory, synchronizing: Bool = false,
    didRead: (ByteCount) -> Void = { _ in }
  ) throws(BlobStoreError) {
    var reader = try reader(of: digest)
    try directory.receive(digest, synchronizing: synchronizing) { () throws(BlobStoreError) in
      let bytes = try reader.next()
      if !bytes.isEmpty { didRead(ByteCount(bytes.count)) }
      return bytes
    }
  }

  /// Copies the package of a directory into the store, in place of one that is there. The store refuses other bytes than those that the
  /// name says. Throws `notFound`, `digestMismatch`, `unreadable` for what is wrong with the directory's, and `unreachable`.
  package func put(_ digest: SHA256Digest, from directory: BlobDirectory) throws(BlobStoreError) {
    let descriptor = try directory.open(digest)
    let length: ByteCount
    do throws(SystemError) {
      length = try descriptor.status().length
    } catch {
      throw BlobStoreError(.unreadable, "\(error)")
    }
    let file = UploadFile(takingOwnershipOf: descriptor)
    do throws(BlobStoreError) {
      try wait { [store] () throws(ObjectStoreError) in
        try await store.put(.package(digest), from: file, 0..<length.rawValue, digest: digest)
      }
    } catch {
      // Which of the two has other bytes, the directory knows.
      guard error.code == .digestMismatch || error.code == .inputOutput else { throw error }
      guard try directory.isWhole(digest) else {
        throw BlobStoreError(.digestMismatch, "the bytes of \(digest) are others")
      }
      throw BlobStoreError(.inputOutput, error.message)
    }
  }

  private func reader(of digest: SHA256Digest) throws(BlobStoreError) -> Reader {
    let object = try wait { [store] () throws(ObjectStoreError) in try await store.reader(of: digest) }
    guard let object else { throw BlobStoreError(.notFound, "the store has no package \(digest)") }
    return Reader(object: object)
  }

  /// Reads a package from its beginning to its end.
  private struct Reader {
    let object: ObjectReader
    var position = ByteCount.zero

    /// The bytes that follow; none at the end.
    mutating func next() throws(BlobStoreError) -> [UInt8] {
      let bytes = try wait { [object, position] () throws(ObjectStoreError) in
        try await object.read(from: position, upTo: ObjectReader.part)
      }
      position += ByteCount(bytes.count)
      return bytes
    }
  }
}

extension ObjectStore {
  /// Every package and its length, in no order, as far as lists have them.
  func listPackages(within limit: Duration) async throws(ObjectStoreError) -> [SHA256Digest: ByteCount] {
    var lengths: [SHA256Digest: ByteCount] = [:]
    try await forEachObject(prefix: ObjectKey.packages, within: limit) { object in
      if let digest = object.key.packageDigest { lengths[digest] = object.attributes.length }
    }
    return lengths
  }

  /// Calls `body` with every object whose name begins with `prefix`, as far as lists have them, a page at a time, each within `limit`.
  func forEachObject(
    prefix: String, within limit: Duration, _ body: (ListedObject) -> Void
  ) async throws(ObjectStoreError) {
    var position: ListPosition?
    repeat {
      let page = try await list(prefix: prefix, after: position, within: limit)
      page.objects.forEach(body)
      position = page.next
    } while position != nil
  }
}

extension StoreInstallation {
  /// Blocks until ``claim()`` has ended.
  package func claimBlocking() throws {
    try waitForAny { [self] in try await claim() }
  }

  /// Blocks until ``check()`` has ended.
  package func checkBlocking() throws {
    try waitForAny { [self] in try await check() }
  }
}

extension StoreTrial {
  /// Blocks until ``run()`` has ended.
  package func runBlocking() throws(ObjectStoreError) {
    let outcome = ended { [self] () async -> Result<Void, ObjectStoreError> in
      do throws(ObjectStoreError) { return .success(try await run()) } catch { return .failure(error) }
    }
    try outcome.get()
  }
}

/// Blocks this thread until `body` has ended, with the store's errors told as those of a directory.
private func wait<Value: Sendable>(
  _ body: @escaping @Sendable () async throws(ObjectStoreError) -> Value
) throws(BlobStoreError) -> Value {
  let outcome = ended { () async -> Result<Value, BlobStoreError> in
    do throws(ObjectStoreError) {
      return .success(try await body())
    } catch {
      return .failure(BlobStoreError(error))
    }
  }
  return try outcome.get()
}

private func waitForAny(_ body: @escaping @Sendable () async throws -> Void) throws {
  let outcome = ended { () async -> Result<Void, any Error> in
    do { return .success(try await body()) } catch { return .failure(error) }
  }
  try outcome.get()
}

/// The value of a task that this thread, which is no task's, waits for.
private func ended<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
  let done = DispatchSemaphore(value: 0)
  let value = Mutex<Value?>(nil)
  Task {
    let found = await body()
    value.locked { $0 = found }
    done.signal()
  }
  done.wait()
  guard let found = value.locked({ $0 }) else { preconditionFailure("the task has ended without a value") }
  return found
}

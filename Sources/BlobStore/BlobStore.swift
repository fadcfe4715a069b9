public import CoreTypes
public import Crypto
public import Files
import Synchronization
public import SystemCalls

/// Keeps packages on disk under the SHA-256 of their bytes, so that a name always means the same bytes. A directory that
/// holds, in one file system,
///
///     blobs/ab/cdef…          immutable files, named by their digests
///     incoming/<identifier>   files that are being received, each by one ``BlobWriter``
///
/// The process that opens the store keeps other processes away from the directory (`LockFile`). Methods that are not called
/// `…Blocking` run on a pool of threads and may be awaited from any task.
///
/// ```swift
/// let store = try BlobStore.open(directory: "/var/lib/pullbox/blobs")
/// let writer = try await store.begin("upload-1", limit: .gibibytes(2))
/// try await writer.append(bytes, at: .zero)
/// let blob = try await writer.commit()
/// let file = try await store.open(blob.digest)
/// ```
public final class BlobStore: Sendable {
  let paths: BlobStorePaths
  let operations: any FileOperations
  /// Where the bytes of incoming files are hashed, so that their own threads can write meanwhile.
  let hashers: BlockingPool
  private let reserve: ByteCount
  private let pool: BlockingPool
  /// The bytes of all blobs together; nil unless the store was opened to measure them.
  private let stored: Mutex<ByteCount?>

  private init(
    paths: BlobStorePaths, reserve: ByteCount, stored: ByteCount?, operations: any FileOperations,
    pool: BlockingPool, hashers: BlockingPool
  ) {
    self.paths = paths
    self.pool = pool
    self.hashers = hashers
    self.reserve = reserve
    self.stored = Mutex(stored)
    self.operations = operations
  }

  /// Makes the directories where they are missing and clears what a killed process left half-written beside the incoming
  /// files. Blocks. `reserve` is the free space that no incoming file may take. With `measures` every blob is looked at
  /// once, and ``storedLength`` is known from then on. `pool` are the threads of the methods that are awaited, eight of their
  /// own unless given; `hashers` those beside the incoming files' own.
  public static func open(
    directory: String, reserve: ByteCount = .mebibytes(64), measures: Bool = false,
    operations: any FileOperations = SystemFileOperations(),
    pool: BlockingPool = BlockingPool(name: "pullbox-blob", threads: 8), hashers: BlockingPool = .computing
  ) throws(BlobStoreError) -> BlobStore {
    let paths = BlobStorePaths(directory)
    let stored: ByteCount? = try asBlobStoreError { () throws(SystemError) in
      try FileSystem.createDirectories(paths.blobs, permissions: 0o700)
      try FileSystem.createDirectories(paths.incoming, permissions: 0o700)
      try DurableFile.removeLeftovers(in: paths.incoming)
      return measures ? try paths.list().values.reduce(.zero, +) : nil
    }
    return BlobStore(
      paths: paths, reserve: reserve, stored: stored, operations: operations, pool: pool, hashers: hashers)
  }

  /// The total length of all blobs; nil unless the store was opened to measure it.
  public var storedLength: ByteCount? { stored.locked { $0 } }

  func count(_ length: ByteCount) {
    stored.locked { if let before = $0 { $0 = before + length } }
  }

  /// The blob, for reading. Throws `notFound`.
  public func open(_ digest: SHA256Digest) async throws(BlobStoreError) -> FileDescriptor {
    // A continuation carries copyable values only, so the number travels alone for this one step.
    let number = try await pool.run { [self] () throws(BlobStoreError) in
      try openBlocking(digest).release()
    }
    return FileDescriptor(takingOwnershipOf: number)
  }

  /// Does the same as ``open(_:)`` on the caller's thread, which may block.
  public func openBlocking(_ digest: SHA256Digest) throws(BlobStoreError) -> FileDescriptor {
    try asBlobStoreError { () throws(SystemError) in
      try FileDescriptor.open(paths.blob(digest), .readOnly, options: .doNotFollow)
    }
  }

  /// Nil when there is no such blob.
  public func length(of digest: SHA256Digest) async throws(BlobStoreError) -> ByteCount? {
    try await run { () throws(SystemError) in try FileSystem.status(of: self.paths.blob(digest))?.length }
  }

  /// Returns the description of a blob, which is read once on a thread of its own. Throws `notFound`.
  public func describe(_ digest: SHA256Digest) async throws(BlobStoreError) -> BlobDescription {
    let thread = BlockingThread(name: "describe")
    return try await thread.run { [self] () throws(BlobStoreError) in
      let file = try openBlocking(digest)
      return try asBlobStoreError { () throws(SystemError) in
        var digests = PieceDigests()
        var buffer: [UInt8] = []
        repeat {
          buffer.removeAll(keepingCapacity: true)
          try file.read(upTo: 1 << 20, at: digests.length, into: &buffer)
          digests.update(buffer.span)
        } while !buffer.isEmpty
        return digests.finalize()
      }
    }
  }

  /// Takes the name away; who has the blob open goes on reading it. False when there was none. Throws `inUse` while a backup is
  /// being taken (``BlobDirectory/holdRemovals()``).
  @discardableResult
  public func remove(_ digest: SHA256Digest) async throws(BlobStoreError) -> Bool {
    try await pool.run { () throws(BlobStoreError) in try self.removeBlocking(digest) }
  }

  /// Does the same as ``remove(_:)`` on the caller's thread, which may block.
  @discardableResult
  public func removeBlocking(_ digest: SHA256Digest) throws(BlobStoreError) -> Bool {
    // Held to the end.
    let permission = try paths.beginRemoval()
    defer { withExtendedLifetime(permission) {} }
    return try asBlobStoreError { () throws(SystemError) in
      let path = paths.blob(digest)
      guard let status = try FileSystem.status(of: path) else { return false }
      try operations.remove(path)
      count(.zero - status.length)
      try operations.synchronizeDirectory(FileSystem.parent(of: path))
      return true
    }
  }

  /// Every blob and its length, in no order.
  public func list() async throws(BlobStoreError) -> [SHA256Digest: ByteCount] {
    try await run { () throws(SystemError) in try self.paths.list() }
  }

  /// The number of bytes that incoming files may still take: the free space less the reserve, never negative.
  public func freeSpace() async throws(BlobStoreError) -> ByteCount {
    try await run { () throws(SystemError) in try self.freeSpaceBlocking() }
  }

  func freeSpaceBlocking() throws(SystemError) -> ByteCount {
    max(.zero, try FileSystem.freeSpace(at: paths.incoming) - reserve)
  }

  func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(SystemError) -> Value
  ) async throws(BlobStoreError) -> Value {
    try await pool.run { () throws(BlobStoreError) in try asBlobStoreError(body) }
  }
}

/// Where things lie in a blob store's directory.
struct BlobStorePaths: Sendable {
  let blobs: String
  let incoming: String

  init(_ directory: String) {
    blobs = "\(directory)/blobs"
    incoming = "\(directory)/incoming"
  }

  /// The first two digits are a directory, so that none grows too large.
  func blob(_ digest: SHA256Digest) -> String {
    let text = digest.hexadecimal
    return "\(blobs)/\(text.prefix(2))/\(text.dropFirst(2))"
  }

  /// Every blob and its length, in no order.
  func list() throws(SystemError) -> [SHA256Digest: ByteCount] {
    var lengths: [SHA256Digest: ByteCount] = [:]
    for directory in try FileSystem.list(blobs) where directory.kind == .directory {
      for entry in try FileSystem.list("\(blobs)/\(directory.name)") {
        guard let digest = SHA256Digest(hexadecimal: directory.name + entry.name) else { continue }
        // One that is gone by now is none.
        lengths[digest] = try FileSystem.status(of: blob(digest))?.length
      }
    }
    return lengths
  }

  /// Allows a removal until the descriptor is closed, also beside others. Throws `inUse` while a backup is being taken.
  func beginRemoval() throws(BlobStoreError) -> FileDescriptor {
    let directory: FileDescriptor = try asBlobStoreError { () throws(SystemError) in
      try FileDescriptor.open(blobs, .readOnly, options: .directory)
    }
    guard try asBlobStoreError({ () throws(SystemError) in try directory.lockShared() }) else {
      throw BlobStoreError(.inUse, "a backup is being taken")
    }
    return directory
  }

  func incomingFile(_ identifier: String) -> String { "\(incoming)/\(identifier)" }

  /// The file of the ``SyncCheckpoint``: how much of the incoming file is on the device. No identifier has a dot, so the
  /// names cannot meet.
  func syncCheckpoint(_ identifier: String) -> String {
    "\(incoming)/\(identifier)\(Self.syncCheckpointSuffix)"
  }

  static let syncCheckpointSuffix = ".durable"

  /// 1 to 128 of `A-Z a-z 0-9 _ -`: what can be a file's name and a part of a URL.
  static func isIdentifier(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: true
        default: false
        }
      }
  }
}

/// The length and the digests of a blob, once all of it has been received.
public struct BlobDescription: Hashable, Sendable {
  /// The digest of the whole: the name under which it is kept.
  public let digest: SHA256Digest
  /// Bytes of the blob.
  public let length: ByteCount
  /// The digests of the pieces of ``PieceDigests/pieceLength`` bytes, the last one shorter; none for an empty blob.
  public let pieces: [SHA256Digest]

  /// Creates the description of bytes that were hashed elsewhere.
  public init(digest: SHA256Digest, length: ByteCount, pieces: [SHA256Digest]) {
    self.digest = digest
    self.length = length
    self.pieces = pieces
  }
}

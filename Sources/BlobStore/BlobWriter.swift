public import CoreTypes
public import Crypto
import Files
public import SystemCalls

/// Receives one file into a ``BlobStore`` and hashes it as the bytes pass, so that a committed file need not be read again.
/// It runs on a thread of its own, which writes while other threads hash the same bytes. The incoming file is locked until the
/// writer has committed or discarded it, or is deallocated: a later ``BlobStore/resume(_:limit:)`` then continues where it
/// stands.
///
/// ```swift
/// let writer = try await store.resume("upload-1", limit: .gibibytes(2))
/// try await writer.append(bytes, at: writer.offset)
/// let blob = try await writer.commit(expecting: digest)
/// ```
public actor BlobWriter {
  /// Fewer bytes are hashed where they are written: handing them over would cost more.
  private static let shortLength = 32_768

  /// The name under which the incoming file is found again.
  public nonisolated let identifier: String
  /// Bytes that the file may grow to, at most.
  public nonisolated let limit: ByteCount

  let store: BlobStore
  private let thread = BlockingThread(name: "incoming")
  // The file's own lock keeps every other writer away from it.
  var file: FileDescriptor?
  var digests = PieceDigests()
  /// The length of the bytes that were last recorded as synced to the device.
  var synchronized = ByteCount.zero
  /// Bytes that do not count until their checksum is known to be right.
  var check: PendingChecksum?
  private var committed: BlobDescription?
  /// The file has its digest's name, where another one was; the directory is still to be synced.
  private var hasReplaced = false

  /// The thread that writes: file system calls may block, so they stay off the shared pool.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe thread.asUnownedSerialExecutor()
  }

  init(_ identifier: String, limit: ByteCount, store: BlobStore) {
    self.identifier = identifier
    self.limit = limit
    self.store = store
  }

  /// How much was received: where the next bytes belong.
  public var offset: ByteCount { digests.length }

  /// The description of the bytes so far. Once all bytes have come, ``commit(expecting:)`` returns the same.
  public var received: BlobDescription { digests.finalize() }

  /// Adds `bytes`, which must continue at `offset`: `wrongOffset` otherwise. `tooLarge` beyond the limit and `outOfSpace`
  /// add nothing; `outOfSpace` also where the next piece would eat into the store's reserve. Answers the new offset. A kill
  /// afterwards loses nothing; a power cut may, until ``synchronize()``.
  @discardableResult
  public func append(_ bytes: [UInt8], at offset: ByteCount) throws(BlobStoreError) -> ByteCount {
    let length = digests.length
    guard offset == length else {
      throw BlobStoreError(.wrongOffset, "bytes at \(offset.rawValue) do not continue it", offset: length)
    }
    guard ByteCount(bytes.count) <= limit - length else {
      throw BlobStoreError(.tooLarge, "more than \(limit.rawValue) bytes")
    }
    try checkReserve(adding: bytes.count)
    if bytes.count < Self.shortLength {
      try write(bytes, at: length)
      digests.update(bytes.span)
      check?.hasher.update(bytes.span)
    } else {
      let checked = check.map { check in
        store.hashers.start { () throws(Never) -> ChecksumHasher in
          var hasher = check.hasher
          hasher.update(bytes.span)
          return hasher
        }
      }
      try digests.update(bytes, on: store.hashers) { () throws(BlobStoreError) in
        try write(bytes, at: length)
      }
      if let checked { check?.hasher = checked.get() }
    }
    try startWriteback(from: length)
    return digests.length
  }

  private func write(_ bytes: [UInt8], at length: ByteCount) throws(BlobStoreError) {
    try withFile { file throws(SystemError) in
      do throws(SystemError) {
        try store.operations.write(bytes.span, to: file, at: length)
      } catch {
        // The first error is the one that explains; should this fail too, the next write fails as well.
        try? file.truncate(to: length)
        throw error
      }
    }
  }

  /// Returns when everything received is on the device and will count after a power cut.
  public func synchronize() throws(BlobStoreError) {
    precondition(check == nil, "the verdict on these bytes is still to come")
    let length = digests.length
    try withFile { file throws(SystemError) in
      try store.operations.synchronize(file)
      try record(length)
    }
  }

  /// Moves the file to its digest's name: fsync, rename, fsync of the directory. It takes the place of a file that has the name,
  /// whose bytes may have been damaged since; a second call answers the same. When it throws, the call can be repeated; nothing is
  /// visible under the digest then that was not before, or the bytes that are there are these. `digestMismatch` when `expected` is
  /// another digest.
  public func commit(expecting expected: SHA256Digest? = nil) throws(BlobStoreError) -> BlobDescription {
    if let committed { return committed }
    let blob = digests.finalize()
    guard expected == nil || expected == blob.digest else {
      throw BlobStoreError(.digestMismatch, "the bytes received have the digest \(blob.digest)")
    }
    precondition(check == nil, "the verdict on these bytes is still to come")
    try withFile { file throws(SystemError) in try publish(file, as: blob) }
    committed = blob
    file = nil
    // Without its file it means nothing; what stays is swept.
    try? store.operations.remove(store.paths.syncCheckpoint(identifier))
    return blob
  }

  private func publish(_ file: borrowing FileDescriptor, as blob: BlobDescription) throws(SystemError) {
    let (path, incoming) = (store.paths.blob(blob.digest), store.paths.incomingFile(identifier))
    if !hasReplaced {
      try FileSystem.createDirectories(FileSystem.parent(of: path), permissions: 0o700)
      do throws(SystemError) {
        try DurableFile.publish(file, at: incoming, as: path, operations: store.operations)
        return store.count(blob.length)
      } catch {
        guard error.isFileInTheWay else { throw error }
      }
      let before = try store.operations.status(of: path)?.length ?? .zero
      try store.operations.rename(incoming, to: path)
      hasReplaced = true
      store.count(blob.length - before)
    }
    try store.operations.synchronizeDirectory(FileSystem.parent(of: path))
  }

  /// Opens the incoming file once more, for reading what was received. Throws `notFound` where it was committed or discarded.
  public func openForReading() throws(BlobStoreError) -> FileDescriptor {
    try asBlobStoreError { () throws(SystemError) in
      try FileDescriptor.open(store.paths.incomingFile(identifier), .readOnly, options: .doNotFollow)
    }
  }

  /// Gives the file up and removes it.
  public func discard() throws(BlobStoreError) {
    try withFile { _ throws(SystemError) in
      try store.operations.remove(store.paths.incomingFile(identifier))
      try store.operations.remove(store.paths.syncCheckpoint(identifier))
    }
    file = nil
  }

  func withFile<Value>(
    _ body: (borrowing FileDescriptor) throws(SystemError) -> Value
  ) throws(BlobStoreError) -> Value {
    guard let open = file.take() else {
      throw BlobStoreError(.finished, "\(identifier) was committed or discarded")
    }
    let result: Result<Value, SystemError>
    do throws(SystemError) {
      result = .success(try body(open))
    } catch {
      result = .failure(error)
    }
    file = consume open
    return try asBlobStoreError(result.get)
  }

  /// Writes down how much is on the device, and from where on nothing counts.
  func record(_ length: ByteCount, ceiling: ByteCount? = nil) throws(SystemError) {
    try SyncCheckpoint(bootIdentifier: try FileSystem.bootIdentifier(), length: length, ceiling: ceiling)
      .write(to: store.paths.syncCheckpoint(identifier), operations: store.operations)
    synchronized = length
  }

  /// Asks for the free space once a piece: others write to the same device.
  private func checkReserve(adding count: Int) throws(BlobStoreError) {
    let (length, pieceLength) = (digests.length.rawValue, PieceDigests.pieceLength.rawValue)
    guard length % pieceLength == 0 || (length + Int64(count)) / pieceLength > length / pieceLength else {
      return
    }
    let free = try asBlobStoreError { () throws(SystemError) in try store.freeSpaceBlocking() }
    guard ByteCount(count) <= free else {
      throw BlobStoreError(.outOfSpace, "\(ByteCount(count)) are to come, \(free) are free")
    }
  }

  /// Lets the kernel write each finished piece while the next one comes, so that the last sync is short.
  private func startWriteback(from length: ByteCount) throws(BlobStoreError) {
    let pieceLength = PieceDigests.pieceLength.rawValue
    let begun = length.rawValue / pieceLength * pieceLength
    let finished = digests.length.rawValue / pieceLength * pieceLength
    guard begun < finished else { return }
    try withFile { file throws(SystemError) in try file.startWriteback(of: begun..<finished) }
  }
}

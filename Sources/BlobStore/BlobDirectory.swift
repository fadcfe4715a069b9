public import CoreTypes
public import Crypto
public import Files
public import SystemCalls

/// The blobs below a directory, laid out as in a ``BlobStore``, for programs that work beside the process that has the store open,
/// or on a copy of it. A blob comes with the bytes that its name says, or not at all. Every call blocks.
///
/// ```swift
/// let state = BlobDirectory("/var/lib/pullbox-server")
/// let hold = try state.holdRemovals()
/// try BlobDirectory("/backup/incomplete").copy(digest, from: state)
/// ```
public struct BlobDirectory: Sendable {
  private static let chunk = 1 << 20

  private let paths: BlobStorePaths
  private let operations: any FileOperations

  /// `directory` is what holds `blobs/`.
  public init(_ directory: String, operations: any FileOperations = SystemFileOperations()) {
    paths = BlobStorePaths(directory)
    self.operations = operations
  }

  /// Every blob and its length, in no order; none where there is no directory.
  public func list() throws(BlobStoreError) -> [SHA256Digest: ByteCount] {
    try asBlobStoreError { () throws(SystemError) in
      try operations.status(of: paths.blobs) == nil ? [:] : try paths.list()
    }
  }

  /// Nil when there is no such blob.
  public func length(of digest: SHA256Digest) throws(BlobStoreError) -> ByteCount? {
    try asBlobStoreError { () throws(SystemError) in try operations.status(of: paths.blob(digest))?.length }
  }

  /// Keeps the process that has the store open from removing blobs until the value is let go; waits for removals that are under
  /// way, and for another hold.
  public func holdRemovals() throws(BlobStoreError) -> BlobRemovalHold {
    try asBlobStoreError { () throws(SystemError) in
      let directory = try FileDescriptor.open(paths.blobs, .readOnly, options: .directory)
      try directory.lockWaiting()
      return BlobRemovalHold(directory)
    }
  }

  /// Allows a removal, here or of what another place has in the directory's stead, until the descriptor is closed: no hold begins
  /// meanwhile. Throws `inUse` while there is one.
  public func beginRemoval() throws(BlobStoreError) -> FileDescriptor { try paths.beginRemoval() }

  /// Whether the bytes are those that the name says, by reading them; `didRead` is told of each chunk. Throws `notFound`,
  /// `unreadable`.
  public func isWhole(
    _ digest: SHA256Digest, didRead: (ByteCount) -> Void = { _ in }
  ) throws(BlobStoreError) -> Bool {
    let file = try open(digest)
    return try Self.digest(of: file, operations, didRead: didRead) == digest
  }

  /// A second name for the blob of `other`. False where the file system has no links, or not between these two.
  public func link(_ digest: SHA256Digest, from other: BlobDirectory) throws(BlobStoreError) -> Bool {
    let source: Directory = try asReadingError { () throws(SystemError) in
      try Directory(opening: FileSystem.parent(of: other.paths.blob(digest)), operations: operations)
    }
    return try asBlobStoreError { () throws(SystemError) in
      let name = FileSystem.lastPart(of: paths.blob(digest))
      let directory = try makeDirectory(of: digest)
      do throws(SystemError) {
        try directory.link(name, to: name, of: source)
        return true
      } catch {
        if error.isFileInTheWay { return true }
        guard error.isUnsupported else { throw error }
        return false
      }
    }
  }

  /// Copies the blob of `other`, in place of one that is here. The bytes are shared where the file system can do that, and hashed
  /// in any case: throws `digestMismatch` where they are not those that the name says, `notFound`, `unreadable`, and for what
  /// fails here `outOfSpace`, `inputOutput`. With `synchronizing`, the blob is on the device when it returns; otherwise once the
  /// file system was synced. `didRead` is told of each chunk.
  public func copy(
    _ digest: SHA256Digest, from other: BlobDirectory, synchronizing: Bool = false,
    didRead: (ByteCount) -> Void = { _ in }
  ) throws(BlobStoreError) {
    let source = try other.open(digest)
    try replace(digest, synchronizing: synchronizing) { (part, directory) throws(BlobStoreError) in
      try Self.fill(part, in: directory, from: source, operations, didRead: didRead)
    }
  }

  /// Writes a blob whose bytes come from elsewhere, in place of one that is here, under the same rules as a copy: `next` returns the bytes that
  /// follow, none at the end. Throws what `next` throws as well.
  public func receive(
    _ digest: SHA256Digest, synchronizing: Bool = false,
    from next: () throws(BlobStoreError) -> [UInt8]
  ) throws(BlobStoreError) {
    try replace(digest, synchronizing: synchronizing) { (part, directory) throws(BlobStoreError) in
      let file: FileDescriptor = try asBlobStoreError { () throws(SystemError) in
        try directory.open(part, .readWrite, options: [.create, .exclusive], permissions: 0o600)
      }
      var hasher = SHA256Hasher()
      var offset = ByteCount.zero
      while true {
        let bytes = try next()
        if bytes.isEmpty { return hasher.finalize() }
        hasher.update(bytes.span)
        try asBlobStoreError { () throws(SystemError) in
          try operations.write(bytes.span, to: file, at: offset)
        }
        offset += ByteCount(bytes.count)
      }
    }
  }

  /// Removes a blob, if it is here.
  public func remove(_ digest: SHA256Digest) throws(BlobStoreError) {
    try asBlobStoreError { () throws(SystemError) in try operations.remove(paths.blob(digest)) }
  }

  /// Gives the blob its name once `fill` has written a file of that name, and has returned the digest of the bytes.
  private func replace(
    _ digest: SHA256Digest, synchronizing: Bool,
    filledBy fill: (_ part: String, borrowing Directory) throws(BlobStoreError) -> SHA256Digest
  ) throws(BlobStoreError) {
    let directory: Directory = try asBlobStoreError { () throws(SystemError) in
      try makeDirectory(of: digest)
    }
    let path = paths.blob(digest)
    // Only one process writes here at a time; what has the name was left by one that was killed.
    let part = ".part-\(FileSystem.lastPart(of: path))"
    let partPath = "\(FileSystem.parent(of: path))/\(part)"
    try asBlobStoreError { () throws(SystemError) in try operations.remove(partPath) }
    do throws(BlobStoreError) {
      let found = try fill(part, directory)
      guard found == digest else {
        try asBlobStoreError { () throws(SystemError) in try operations.remove(partPath) }
        throw BlobStoreError(.digestMismatch, "the bytes of \(digest) are others")
      }
      try asBlobStoreError { () throws(SystemError) in
        let file = try directory.open(part, .readWrite)
        try adopt(file)
        if synchronizing { try operations.synchronize(file) }
        try operations.rename(partPath, to: path)
        if synchronizing { try directory.synchronize() }
      }
    } catch {
      // The first error is the one that explains.
      try? operations.remove(partPath)
      throw error
    }
  }

  /// The blob, for reading. Throws `notFound`, `unreadable`.
  public func open(_ digest: SHA256Digest) throws(BlobStoreError) -> FileDescriptor {
    try asReadingError { () throws(SystemError) in
      try operations.willMake(.open, of: paths.blob(digest))
      return try FileDescriptor.openRegularFile(paths.blob(digest))
    }
  }

  private func makeDirectory(of digest: SHA256Digest) throws(SystemError) -> Directory {
    let path = FileSystem.parent(of: paths.blob(digest))
    try operations.createDirectories(path, permissions: 0o700)
    let directory = try Directory(opening: path, operations: operations)
    try adopt(directory.descriptor)
    return directory
  }

  /// Gives a file that root created to the owner of the blob directory.
  private func adopt(_ file: borrowing FileDescriptor) throws(SystemError) {
    guard let owner = try operations.status(of: paths.blobs)?.owner,
      owner.user != FileOwner.ofThisProcess.user
    else { return }
    try file.setOwner(owner)
  }

  /// The digest of what was written.
  private static func fill(
    _ part: String, in directory: borrowing Directory, from source: borrowing FileDescriptor,
    _ operations: any FileOperations, didRead: (ByteCount) -> Void
  ) throws(BlobStoreError) -> SHA256Digest {
    do throws(SystemError) {
      try directory.clone(part, of: source, permissions: 0o600)
    } catch {
      // Where one of the two files cannot be read, the copy tells which.
      guard error.isUnsupported || error.isUnreadable else { throw BlobStoreError(error) }
      let file: FileDescriptor = try asBlobStoreError { () throws(SystemError) in
        try directory.open(part, .readWrite, options: [.create, .exclusive], permissions: 0o600)
      }
      return try digest(of: source, operations, copyingTo: file, didRead: didRead)
    }
    let file: FileDescriptor = try asBlobStoreError { () throws(SystemError) in
      try directory.open(part, .readOnly)
    }
    return try digest(of: file, operations, didRead: didRead)
  }

  private static func digest(
    of file: borrowing FileDescriptor, _ operations: any FileOperations, didRead: (ByteCount) -> Void
  ) throws(BlobStoreError) -> SHA256Digest {
    try forEachChunk(of: file, operations, didRead: didRead) { (_, _) throws(SystemError) in }
  }

  private static func digest(
    of file: borrowing FileDescriptor, _ operations: any FileOperations,
    copyingTo target: borrowing FileDescriptor, didRead: (ByteCount) -> Void
  ) throws(BlobStoreError) -> SHA256Digest {
    try forEachChunk(of: file, operations, didRead: didRead) { (bytes, offset) throws(SystemError) in
      try operations.write(bytes.span, to: target, at: offset)
    }
  }

  /// A clone's bytes are those of the blob that it is of: where they cannot be read, that cannot.
  private static func forEachChunk(
    of file: borrowing FileDescriptor, _ operations: any FileOperations, didRead: (ByteCount) -> Void,
    _ body: ([UInt8], ByteCount) throws(SystemError) -> Void
  ) throws(BlobStoreError) -> SHA256Digest {
    var hasher = SHA256Hasher()
    var offset = ByteCount.zero
    var bytes: [UInt8] = []
    while true {
      bytes.removeAll(keepingCapacity: true)
      do throws(SystemError) {
        try operations.read(upTo: chunk, of: file, at: offset, into: &bytes)
      } catch {
        throw BlobStoreError(reading: error)
      }
      if bytes.isEmpty { return hasher.finalize() }
      hasher.update(bytes.span)
      do throws(SystemError) {
        try body(bytes, offset)
      } catch {
        throw BlobStoreError(error)
      }
      offset += ByteCount(bytes.count)
      didRead(ByteCount(bytes.count))
    }
  }
}

/// Runs `body`, which opens or reads a blob, with its system errors told as those of the store.
private func asReadingError<Value: ~Copyable>(
  _ body: () throws(SystemError) -> Value
) throws(BlobStoreError) -> Value {
  do throws(SystemError) {
    return try body()
  } catch {
    throw BlobStoreError(reading: error)
  }
}

/// No blob of a store is removed while this value lives, by whichever process. The kernel lets go when the process ends.
public struct BlobRemovalHold: ~Copyable, Sendable {
  private let directory: FileDescriptor

  init(_ directory: consuming FileDescriptor) {
    self.directory = directory
  }
}

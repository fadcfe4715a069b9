import CoreTypes
import Files
import SystemCalls

extension BlobWriter {
  func begin(expectedLength: ByteCount?) throws(BlobStoreError) {
    try checkLimit(expectedLength)
    try checkSpace(for: expectedLength)
    let path = store.paths.incomingFile(identifier)
    do throws(SystemError) {
      let created = try store.operations.create(path, permissions: 0o600)
      // No other writer can have it: it is new.
      _ = try created.lock()
      file = consume created
    } catch {
      if error.isFileInTheWay { throw BlobStoreError(.exists, "\(identifier) was begun before") }
      throw BlobStoreError(error)
    }
    do throws(SystemError) {
      // Syncs the directory as well, and with it the new file's name.
      try record(.zero)
    } catch {
      file = nil
      // The first error is the one that explains; what stays is swept.
      try? store.operations.remove(path)
      throw BlobStoreError(error)
    }
  }

  func resume() throws(BlobStoreError) {
    let opened: FileDescriptor = try asBlobStoreError { () throws(SystemError) in
      try FileDescriptor.open(
        store.paths.incomingFile(identifier), .readWrite, options: .doNotFollow)
    }
    let isLocked = try asBlobStoreError { () throws(SystemError) in try opened.lock() }
    guard isLocked else { throw BlobStoreError(.inUse, "\(identifier) is being received now") }
    let status = try asBlobStoreError { () throws(SystemError) in try opened.status() }
    guard status.linkCount > 0 else {
      throw BlobStoreError(.notFound, "\(identifier) was removed meanwhile")
    }
    try asBlobStoreError { () throws(SystemError) in
      let recorded = try SyncCheckpoint.read(store.paths.syncCheckpoint(identifier))
      let length =
        recorded?.trusted(fileLength: status.length, bootIdentifier: try FileSystem.bootIdentifier()) ?? .zero
      if length < status.length { try opened.truncate(to: length) }
      synchronized = min(recorded?.length ?? .zero, length)
      // What waited for a verdict is gone; what comes now must not be taken for it.
      if recorded?.ceiling != nil { try record(synchronized) }
      digests = try PieceDigests(reading: opened, upTo: length)
    }
    file = consume opened
  }

  /// How many bytes of an incoming file a resumption would find; zero when it is gone.
  static func trustedLength(of identifier: String, in paths: BlobStorePaths) throws(SystemError) -> ByteCount
  {
    guard let length = try FileSystem.status(of: paths.incomingFile(identifier))?.length else { return .zero }
    let recorded = try SyncCheckpoint.read(paths.syncCheckpoint(identifier))
    return recorded?.trusted(fileLength: length, bootIdentifier: try FileSystem.bootIdentifier()) ?? .zero
  }

  private func checkLimit(_ length: ByteCount?) throws(BlobStoreError) {
    guard let length, length > limit else { return }
    throw BlobStoreError(.tooLarge, "more than \(limit.rawValue) bytes")
  }

  /// `length` is what is still to come; nil when it is not known.
  private func checkSpace(for length: ByteCount?) throws(BlobStoreError) {
    let length = length ?? .zero
    let free = try asBlobStoreError { () throws(SystemError) in try store.freeSpaceBlocking() }
    guard free > .zero, length <= free else {
      throw BlobStoreError(.outOfSpace, "\(length) are to come, \(free) are free")
    }
  }
}

import Measures
import SystemCalls

extension IncomingBlob {
  func begin(expectedLength: ByteCount?) throws(BlobStoreError) {
    try checkLimit(expectedLength)
    try checkSpace(for: expectedLength)
    let path = store.paths.incomingFile(identifier)
    do throws(SystemError) {
      let created = try store.operations.create(path, permissions: 0o600)
      // Nobody else can have it: it is new.
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

  func resume(expectedLength: ByteCount?) throws(BlobStoreError) {
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
    let length = try asBlobStoreError { () throws(SystemError) in
      try trustedLength(of: status.length)
    }
    try checkLimit(length, expectedLength)
    try checkSpace(for: expectedLength.map { $0 - length })
    try asBlobStoreError { () throws(SystemError) in
      if length < status.length { try opened.truncate(to: length) }
      digests = try PieceDigests(reading: opened, upTo: length)
    }
    file = consume opened
  }

  private func trustedLength(of fileLength: ByteCount) throws(SystemError) -> ByteCount {
    let recorded = try DurableLength.read(store.paths.durableLength(identifier))
    return recorded?.trusted(fileLength: fileLength, bootIdentifier: try FileSystem.bootIdentifier())
      ?? .zero
  }

  private func checkLimit(_ lengths: ByteCount?...) throws(BlobStoreError) {
    for case let length? in lengths where length > limit {
      throw BlobStoreError(.tooLarge, "more than \(limit.rawValue) bytes")
    }
  }

  /// `length` is what is still to come; nil when nobody knows.
  private func checkSpace(for length: ByteCount?) throws(BlobStoreError) {
    let length = length ?? .zero
    let free = try asBlobStoreError { () throws(SystemError) in try store.freeSpaceBlocking() }
    guard free > .zero, length <= free else {
      throw BlobStoreError(.outOfSpace, "\(length) are to come, \(free) are free")
    }
  }
}

public import CoreTypes
import Files
import SystemCalls

extension BlobStore {
  /// Begins a file. `expectedLength` is what will come, when it is known; `limit` what may come at most. Throws
  /// `invalidIdentifier`, `exists`, `tooLarge`, or `outOfSpace` before a byte was received.
  public func begin(
    _ identifier: String, expectedLength: ByteCount?, limit: ByteCount
  ) async throws(BlobStoreError) -> BlobWriter {
    let incoming = try incoming(identifier, limit: limit)
    try await incoming.begin(expectedLength: expectedLength)
    return incoming
  }

  /// Goes on with a file begun before, perhaps by a process that was killed. Reads what is there once, on the file's own
  /// thread, to have its digests; at the rate of the disk or of SHA-256, whichever is slower. Keep the object between the
  /// requests of one upload to spare that. Throws `notFound`, `inUse`.
  public func resume(_ identifier: String, limit: ByteCount) async throws(BlobStoreError) -> BlobWriter {
    let incoming = try incoming(identifier, limit: limit)
    try await incoming.resume()
    return incoming
  }

  /// How many bytes of an incoming file count: where a resumption would go on. Nil when there is no such file.
  public func receivedLength(of identifier: String) async throws(BlobStoreError) -> ByteCount? {
    _ = try incoming(identifier, limit: .zero)
    return try await run { () throws(SystemError) in
      try FileSystem.status(of: self.paths.incomingFile(identifier)) == nil
        ? nil : try BlobWriter.trustedLength(of: identifier, in: self.paths)
    }
  }

  /// Removes an incoming file and what was written down about it; false while a writer receives into it.
  public func removeIncoming(_ identifier: String) async throws(BlobStoreError) -> Bool {
    _ = try incoming(identifier, limit: .zero)
    return try await run { () throws(SystemError) in
      let path = self.paths.incomingFile(identifier)
      do throws(SystemError) {
        let file = try FileDescriptor.open(path, .readWrite, options: .doNotFollow)
        guard try file.lock() else { return false }
        try self.operations.remove(path)
      } catch {
        guard error.isFileMissing else { throw error }
      }
      try self.operations.remove(self.paths.syncCheckpoint(identifier))
      return true
    }
  }

  /// Every incoming file and how many of its bytes count, in no order; also one of which only what was written down is
  /// left.
  public func listIncoming() async throws(BlobStoreError) -> [String: ByteCount] {
    try await run { () throws(SystemError) in try self.listIncomingBlocking() }
  }

  /// Does the same as ``listIncoming()`` on the caller's thread, which may block.
  public func incomingLengthsBlocking() throws(BlobStoreError) -> [String: ByteCount] {
    try asBlobStoreError { () throws(SystemError) in try listIncomingBlocking() }
  }

  private func listIncomingBlocking() throws(SystemError) -> [String: ByteCount] {
    var lengths: [String: ByteCount] = [:]
    for entry in try FileSystem.list(paths.incoming) where entry.kind == .regular {
      if entry.name.hasSuffix(BlobStorePaths.syncCheckpointSuffix) {
        let identifier = String(entry.name.dropLast(BlobStorePaths.syncCheckpointSuffix.count))
        if BlobStorePaths.isIdentifier(identifier) { lengths[identifier, default: .zero] += .zero }
      } else if BlobStorePaths.isIdentifier(entry.name) {
        lengths[entry.name] = try BlobWriter.trustedLength(of: entry.name, in: paths)
      }
    }
    return lengths
  }

  private func incoming(
    _ identifier: String, limit: ByteCount
  ) throws(BlobStoreError) -> BlobWriter {
    guard BlobStorePaths.isIdentifier(identifier) else {
      throw BlobStoreError(.invalidIdentifier, "\(identifier.prefix(128)) cannot name a file")
    }
    return BlobWriter(identifier, limit: limit, store: self)
  }
}

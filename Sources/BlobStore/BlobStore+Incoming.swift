public import Measures
import SystemCalls

extension BlobStore {
  /// Begins a file. `expectedLength` is what will come, when it is known; `limit` what may come at most. Throws
  /// `invalidIdentifier`, `exists`, `tooLarge`, or `outOfSpace` before a byte was received.
  public func begin(
    _ identifier: String, expectedLength: ByteCount?, limit: ByteCount
  ) async throws(BlobStoreError) -> IncomingBlob {
    let incoming = try incoming(identifier, limit: limit)
    try await incoming.begin(expectedLength: expectedLength)
    return incoming
  }

  /// Goes on with a file begun before, perhaps by a process that was killed. Reads what is there once, on the file's own
  /// thread, to have its digests; at the rate of the disk or of SHA-256, whichever is slower. Keep the object between the
  /// requests of one upload to spare that. Throws `notFound`, `inUse`, `tooLarge`, `outOfSpace`.
  public func resume(
    _ identifier: String, expectedLength: ByteCount?, limit: ByteCount
  ) async throws(BlobStoreError) -> IncomingBlob {
    let incoming = try incoming(identifier, limit: limit)
    try await incoming.resume(expectedLength: expectedLength)
    return incoming
  }

  /// Removes every incoming file that nobody receives into now and that has not been written to since `moment`; answers their
  /// identifiers.
  @discardableResult
  public func sweep(untouchedSince moment: Timestamp) async throws(BlobStoreError) -> [String] {
    try await run { () throws(SystemError) in
      let directory = try Directory(opening: self.paths.incoming)
      var removed: [String] = []
      for entry in try directory.entries() where entry.kind == .regular {
        guard BlobStorePaths.isIdentifier(entry.name) else { continue }
        let file = try directory.open(entry.name, .readWrite)
        guard try file.status().modified < moment, try file.lock() else { continue }
        try directory.removeFile(entry.name)
        try FileSystem.removeFile(self.paths.durableLength(entry.name))
        removed.append(entry.name)
      }
      return removed
    }
  }

  private func incoming(
    _ identifier: String, limit: ByteCount
  ) throws(BlobStoreError) -> IncomingBlob {
    guard BlobStorePaths.isIdentifier(identifier) else {
      throw BlobStoreError(.invalidIdentifier, "\(identifier.prefix(128)) cannot name a file")
    }
    return IncomingBlob(identifier, limit: limit, store: self)
  }
}

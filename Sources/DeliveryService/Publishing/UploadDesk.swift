import BlobStore
import Database
import Digests
import HTTPServer
import Measures
import PullboxAPI

/// Receives uploads: the rules of tus 1.0.0 over incoming files. One request at a time holds an upload; others are refused
/// `upload-locked`, so that two clients never mix bytes.
actor UploadDesk {
  /// The longest package.
  static let maximumLength = ByteCount(2_147_483_648)
  /// Incoming files that stay open between requests, so that their digests need not be computed again.
  static let maximumOpen = 16

  private let database: Database
  private let blobs: BlobStore
  private let clock: any WallClock
  /// Open files, the least recently used first.
  private var open: [(id: String, blob: IncomingBlob)] = []
  private var held: Set<String> = []

  init(database: Database, blobs: BlobStore, clock: any WallClock) {
    self.database = database
    self.blobs = blobs
    self.clock = clock
  }

  /// Begins an upload. Throws `upload-too-large` and `out-of-space` before a byte was taken.
  func create(length: ByteCount?, metadata: String, owner: String) async throws -> Upload {
    try Self.check(length)
    let upload = Upload(
      id: RandomBytes.token(bits: 192), owner: owner, length: length, metadata: metadata, digest: nil)
    let now = clock.now()
    try await database.write { try UploadTable.insert(upload, at: now, in: $0) }
    do {
      let blob = try await blobs.begin(upload.id, expectedLength: length, limit: Self.maximumLength)
      remember(blob)
    } catch {
      try await database.write { try UploadTable.remove(upload.id, in: $0) }
      throw Self.problem(error)
    }
    return upload
  }

  /// Where the upload stands. One whose bytes were taken over already stands at its end.
  func status(of id: String) async throws -> (upload: Upload, offset: ByteCount) {
    let upload = try await find(id)
    if upload.digest != nil, let length = upload.length { return (upload, length) }
    return try await holding(id) { () in
      (upload, await (try self.blob(of: upload)).offset)
    }
  }

  /// Takes the bytes of one request, from `offset` on, until they end or the connection does: what arrived is kept either
  /// way. `deferredLength` is given by the first request that knows it.
  func append(
    _ body: RequestBody, to id: String, at offset: ByteCount, deferredLength: ByteCount?
  ) async throws -> (upload: Upload, offset: ByteCount) {
    try await holding(id) { () in try await self.appendHeld(body, to: id, at: offset, deferredLength) }
  }

  /// Forgets the upload and its bytes.
  func terminate(_ id: String) async throws {
    let upload = try await find(id)
    try await holding(id) { () in
      try await self.database.write { try UploadTable.remove(id, in: $0) }
      guard upload.digest == nil else { return }
      do {
        try await self.blob(of: upload).discard()
      } catch let error as BlobStoreError where error.code == .notFound {
        // Its file is gone already: nothing is left to forget.
      }
      self.forget(id)
    }
  }

  /// The complete upload's bytes, moved to their digest in the blob store. Can be repeated after a crash at any point,
  /// until ``forgetUpload(_:)``.
  func takeOver(_ id: String) async throws -> (upload: Upload, received: ReceivedBlob) {
    let upload = try await find(id)
    return try await holding(id) { () in
      if let digest = upload.digest, let received = try await self.rehash(digest) {
        return (upload, received)
      }
      let blob = try await self.blob(of: upload)
      let received = await blob.received
      guard let length = upload.length, received.length == length else {
        throw Problem(.uploadIncomplete, "\(received.length.rawValue) bytes have arrived")
      }
      try await self.database.write { try UploadTable.setDigest(received.digest, of: id, in: $0) }
      do {
        _ = try await blob.commit(expecting: received.digest)
      } catch {
        throw Self.problem(error)
      }
      self.forget(id)
      return (upload, received)
    }
  }

  private func appendHeld(
    _ body: RequestBody, to id: String, at offset: ByteCount, _ deferredLength: ByteCount?
  ) async throws -> (upload: Upload, offset: ByteCount) {
    var upload = try await find(id)
    if let deferredLength {
      guard upload.length == nil || upload.length == deferredLength else {
        throw Problem(.requestMalformed, "Upload-Length was \(upload.length?.rawValue ?? 0) before")
      }
      try Self.check(deferredLength)
      try await database.write { try UploadTable.setLength(deferredLength, of: id, in: $0) }
      upload.length = deferredLength
    }
    let blob = try await blob(of: upload)
    var position = await blob.offset
    guard offset == position, upload.digest == nil else {
      throw Problem(
        .uploadOffsetMismatch, "the upload stands at \(position.rawValue)", expectedOffset: position.rawValue)
    }
    let end = upload.length ?? Self.maximumLength
    if let announced = body.expectedLength, announced > end - position {
      throw Problem(.uploadTooLarge, "the upload has room for \((end - position).rawValue) more bytes")
    }
    var failure: (any Error)?
    do {
      for try await bytes in body {
        guard ByteCount(bytes.count) <= end - position else {
          throw Problem(.uploadTooLarge, "the upload ends at \(end.rawValue)")
        }
        position = try await blob.append(bytes, at: position)
      }
    } catch {
      failure = error
    }
    // What arrived stays, whatever ended the request.
    try await Self.asProblem { try await blob.synchronize() }
    let now = clock.now()
    try await database.write { try UploadTable.touch(id, at: now, in: $0) }
    if let failure { throw Self.problem(failure) }
    return (upload, position)
  }

  private func find(_ id: String) async throws -> Upload {
    guard let upload = try await database.read({ try UploadTable.find(id, in: $0) }) else {
      throw Problem(.uploadUnknown)
    }
    return upload
  }

  private func holding<Value: Sendable>(
    _ id: String, _ body: () async throws -> Value
  ) async throws -> Value {
    guard held.insert(id).inserted else { throw Problem(.uploadLocked, retryAfterSeconds: 1) }
    defer { held.remove(id) }
    return try await body()
  }

  private func blob(of upload: Upload) async throws -> IncomingBlob {
    if let index = open.firstIndex(where: { $0.id == upload.id }) {
      let entry = open.remove(at: index)
      open.append(entry)
      return entry.blob
    }
    do {
      let blob = try await blobs.resume(
        upload.id, expectedLength: upload.length, limit: Self.maximumLength)
      remember(blob)
      return blob
    } catch {
      throw Self.problem(error)
    }
  }

  private func remember(_ blob: IncomingBlob) {
    open.append((blob.identifier, blob))
    while open.count > Self.maximumOpen, let index = open.firstIndex(where: { !held.contains($0.id) }) {
      open.remove(at: index)
    }
  }

  private func forget(_ id: String) {
    open.removeAll { $0.id == id }
  }

  /// What is known of a blob, by reading it once; nil when it is not in the store.
  private func rehash(_ digest: SHA256Digest) async throws -> ReceivedBlob? {
    do {
      return try await blobs.describe(digest)
    } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }

  private static func check(_ length: ByteCount?) throws(Problem) {
    if let length, length > maximumLength {
      throw Problem(.uploadTooLarge, "\(length.rawValue) bytes were announced")
    }
  }

  private static func asProblem<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch {
      throw problem(error)
    }
  }

  private static func problem(_ error: any Error) -> any Error {
    switch error {
    case let error as BlobStoreError:
      switch error.code {
      case .tooLarge: Problem(.uploadTooLarge, error.message)
      case .outOfSpace: Problem(.outOfSpace, error.message)
      case .inUse: Problem(.uploadLocked, retryAfterSeconds: 1)
      case .notFound: Problem(.uploadUnknown)
      case .wrongOffset:
        Problem(.uploadOffsetMismatch, error.message, expectedOffset: error.offset?.rawValue)
      default: error
      }
    case let error as RequestBodyError:
      Problem(.requestMalformed, error.description)
    default: error
    }
  }
}

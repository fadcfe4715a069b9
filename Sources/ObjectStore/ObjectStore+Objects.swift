public import CoreTypes
public import Crypto
public import HTTPClient

/// The bytes of an object to put.
public enum ObjectSource: Sendable {
  /// Bytes that are in memory.
  case bytes([UInt8])
  /// A range of a file, read while it is sent, by the client's thread.
  case file(UploadFile, Range<Int64>)

  /// The body of a request with these bytes.
  var body: ClientRequest.Body {
    switch self {
    case .bytes(let bytes): .bytes(bytes)
    case .file(let file, let range): .file(file, range)
    }
  }
}

/// The facts that a store tells of an object beside its bytes.
public struct ObjectAttributes: Hashable, Sendable {
  /// Bytes of the whole object.
  public var length: ByteCount
  /// The ETag as it came, quotes included. It may change for the same bytes and stay for others; nil where there is none.
  public var entityTag: String?
  /// When it was put, by the store's clock; nil where the store does not tell.
  public var lastModified: Timestamp?

  /// Attributes from their parts.
  public init(length: ByteCount, entityTag: String? = nil, lastModified: Timestamp? = nil) {
    self.length = length
    self.entityTag = entityTag
    self.lastModified = lastModified
  }
}

extension ObjectStore {
  /// Puts an object, in place of the one of that name if there is one. The request is signed with `digest`, so that the store takes no
  /// other bytes (``ObjectStoreError/Code/digestMismatch``). A call that fails may have put the object all the same.
  public func put(
    _ key: ObjectKey, from source: ObjectSource, digest: SHA256Digest, within limit: Duration
  ) async throws(ObjectStoreError) {
    let call = StoreCall(
      method: "PUT", key: key, headers: [("Content-Type", "application/octet-stream")], body: source.body,
      payload: .digest(digest))
    guard call.body.length <= Self.maximumObjectLength else {
      throw ObjectStoreError(
        code: .tooLarge, message: "an object has at most \(Self.maximumObjectLength)")
    }
    try await retry(within: limit) { remaining throws(TryFailure) in
      _ = try await self.send(call, within: remaining)
    }
  }

  /// Asks what is there under a name: nil where nothing is. A missing bucket is told apart from a missing object by no store here.
  public func head(_ key: ObjectKey, within limit: Duration) async throws(ObjectStoreError)
    -> ObjectAttributes?
  {
    do throws(ObjectStoreError) {
      return try await retry(within: limit) { remaining throws(TryFailure) in
        let response = try await self.send(StoreCall(method: "HEAD", key: key), within: remaining)
        guard response.status == 200, let length = response.head.contentLength else {
          throw .malformed("the answer to HEAD has no length", status: response.status)
        }
        return ObjectAttributes(length: length, response.head)
      }
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  /// Deletes an object; one that is not there is deleted already.
  public func delete(_ key: ObjectKey, within limit: Duration) async throws(ObjectStoreError) {
    do throws(ObjectStoreError) {
      try await retry(within: limit) { remaining throws(TryFailure) in
        _ = try await self.send(StoreCall(method: "DELETE", key: key), within: remaining)
      }
    } catch {
      guard error.code == .notFound else { throw error }
    }
  }
}

extension ObjectAttributes {
  /// The length, and the rest from a head.
  init(length: ByteCount, _ head: ResponseHead) {
    self.init(length: length, entityTag: head.headers["ETag"], lastModified: head.lastModified)
  }
}

import BlobStore
import CoreTypes
import Crypto
import HTTPClient
import ObjectStore

/// Reads a package's object by ranges, past the cache.
struct ObjectReader: PackageReader {
  /// A call that takes longer fails.
  static let limit: Duration = .seconds(60)
  /// Bytes of one read where a package is read as a whole.
  static let part = ByteCount.mebibytes(8)

  let store: ObjectStore
  let key: ObjectKey
  let attributes: ObjectAttributes

  var identity: PackageIdentity {
    PackageIdentity(
      "\(attributes.length.rawValue) \(attributes.lastModified?.millisecondsSinceEpoch ?? 0) "
        + (attributes.entityTag ?? ""))
  }
  var length: ByteCount { attributes.length }

  func forgetCached() async {}

  func bytes(from position: ByteCount, upTo count: Int) async throws(BlobStoreError) -> [UInt8] {
    try await asBlobStoreError { () throws(ObjectStoreError) in
      try await read(from: position, upTo: ByteCount(count))
    }
  }

  /// The same with the store's own errors.
  func read(from position: ByteCount, upTo count: ByteCount) async throws(ObjectStoreError) -> [UInt8] {
    let end = min(length, position + count)
    guard position < end else { return [] }
    return try await store.bytes(of: key, range: position.rawValue..<end.rawValue, within: Self.limit)
  }
}

extension ObjectStore {
  /// Nil where there is no such package.
  func reader(of digest: SHA256Digest) async throws(ObjectStoreError) -> ObjectReader? {
    let key = ObjectKey.package(digest)
    guard let attributes = try await head(key, within: ObjectReader.limit) else { return nil }
    return ObjectReader(store: self, key: key, attributes: attributes)
  }

  /// Puts a range of a file, for which a store that takes a mebibyte a second has time enough.
  func put(
    _ key: ObjectKey, from file: UploadFile, _ range: Range<Int64>, digest: SHA256Digest
  ) async throws(ObjectStoreError) {
    let limit = ObjectReader.limit + .seconds((range.upperBound - range.lowerBound) >> 20)
    try await put(key, from: .file(file, range), digest: digest, within: limit)
  }
}

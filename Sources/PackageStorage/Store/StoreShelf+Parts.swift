package import BlobStore
package import CoreTypes
package import Crypto
import HTTPClient
import ObjectStore

/// Parts of uploads in an object store, below `incoming/`.
extension StoreShelf: UploadPartShelf {
  private static let incoming = "incoming/"

  package func putPart(
    _ name: UploadPartName, _ range: Range<ByteCount>, of received: BlobWriter, digest: SHA256Digest
  ) async throws(BlobStoreError) {
    let key = try Self.key(name)
    let file = UploadFile(takingOwnershipOf: try await received.openForReading())
    try await asBlobStoreError { () throws(ObjectStoreError) in
      try await store.put(
        key, from: file, range.lowerBound.rawValue..<range.upperBound.rawValue, digest: digest)
    }
  }

  package func part(_ name: UploadPartName, length: ByteCount) async throws(BlobStoreError) -> [UInt8] {
    let key = try Self.key(name)
    return try await asBlobStoreError { () throws(ObjectStoreError) in
      try await store.bytes(of: key, range: 0..<length.rawValue, within: Self.limit)
    }
  }

  package func removePart(_ name: UploadPartName) async throws(BlobStoreError) {
    try await checkInstallation()
    let key = try Self.key(name)
    try await asBlobStoreError { () throws(ObjectStoreError) in
      try await store.delete(key, within: Self.limit)
    }
  }

  package func listParts() async throws(BlobStoreError) -> [UploadPartName] {
    try await asBlobStoreError { () throws(ObjectStoreError) in
      var parts: [UploadPartName] = []
      try await store.forEachObject(prefix: Self.incoming, within: Self.limit) { object in
        if let name = Self.name(object.key) { parts.append(name) }
      }
      return parts
    }
  }

  private static func key(_ name: UploadPartName) throws(BlobStoreError) -> ObjectKey {
    guard let key = ObjectKey(rawValue: "\(incoming)\(name.upload)/\(name.part)") else {
      throw BlobStoreError(.invalidIdentifier, "\(name.upload.prefix(128)) cannot name a part")
    }
    return key
  }

  private static func name(_ key: ObjectKey) -> UploadPartName? {
    let words = key.rawValue.split(separator: "/", omittingEmptySubsequences: false)
    guard words.count == 3 else { return nil }
    return UploadPartName(upload: String(words[1]), part: String(words[2]))
  }
}

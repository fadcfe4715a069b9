package import BlobStore
package import CoreTypes
package import Crypto
package import PackageStorage

/// A store for packages and for parts, as an object store is.
package struct MemoryStore: PackageShelf, UploadPartShelf {
  private let packages: MemoryShelf
  private let parts: MemoryPartShelf

  package init(packages: MemoryShelf, parts: MemoryPartShelf) {
    self.packages = packages
    self.parts = parts
  }

  package var storedLength: ByteCount? { packages.storedLength }

  package func put(_ received: BlobWriter, as digest: SHA256Digest) async throws(BlobStoreError)
    -> BlobDescription
  {
    try await packages.put(received, as: digest)
  }

  package func openWhole(_ digest: SHA256Digest) async throws(BlobStoreError) -> SharedFile {
    try await packages.openWhole(digest)
  }

  package func reader(of digest: SHA256Digest) async throws(BlobStoreError) -> any PackageReader {
    try await packages.reader(of: digest)
  }

  package func remove(_ digest: SHA256Digest) async throws(BlobStoreError) -> Bool {
    try await packages.remove(digest)
  }

  package func list() async throws(BlobStoreError) -> [SHA256Digest: ByteCount] { try await packages.list() }

  package func describe(_ digest: SHA256Digest) async throws(BlobStoreError) -> BlobDescription {
    try await packages.describe(digest)
  }

  package func putPart(
    _ name: UploadPartName, _ range: Range<ByteCount>, of received: BlobWriter, digest: SHA256Digest
  ) async throws(BlobStoreError) {
    try await parts.putPart(name, range, of: received, digest: digest)
  }

  package func part(_ name: UploadPartName, length: ByteCount) async throws(BlobStoreError) -> [UInt8] {
    try await parts.part(name, length: length)
  }

  package func removePart(_ name: UploadPartName) async throws(BlobStoreError) {
    try await parts.removePart(name)
  }

  package func listParts() async throws(BlobStoreError) -> [UploadPartName] { try await parts.listParts() }

  package func measure() async throws(BlobStoreError) {}
}

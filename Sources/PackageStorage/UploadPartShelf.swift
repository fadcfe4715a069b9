package import BlobStore
package import CoreTypes
package import Crypto

/// The object of a part of an upload: the name of the upload and one of its own.
package struct UploadPartName: Hashable, Sendable {
  /// The name of the upload.
  package var upload: String
  /// Names the part among all that were ever put for the upload.
  package var part: String

  package init(upload: String, part: String) {
    self.upload = upload
    self.part = part
  }
}

/// Where parts of uploads lie until these are complete, so that any node goes on with an upload. No name is used twice: what is
/// there under it never changes.
package protocol UploadPartShelf: Sendable {
  /// Puts a range of what was received, with the digest that the range has. A call that fails may have put it all the same.
  func putPart(
    _ name: UploadPartName, _ range: Range<ByteCount>, of received: BlobWriter, digest: SHA256Digest
  ) async throws(BlobStoreError)

  /// The bytes of a part of that length, as they lie there. Throws `notFound`.
  func part(_ name: UploadPartName, length: ByteCount) async throws(BlobStoreError) -> [UInt8]

  /// Removes a part; one that is not there is removed already.
  func removePart(_ name: UploadPartName) async throws(BlobStoreError)

  /// Every part, in no order, as far as lists have them.
  func listParts() async throws(BlobStoreError) -> [UploadPartName]

  /// Counts the bytes of all packages anew.
  func measure() async throws(BlobStoreError)
}

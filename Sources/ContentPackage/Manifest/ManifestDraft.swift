import Commerce
import Crypto
import CoreTypes

/// The members of a manifest before its rules are checked.
struct ManifestDraft: Sendable {
  var product: ProductIdentifier
  var version: ContentVersion
  var kind: Manifest.Kind
  var name: String?
  var mediaType: MediaType
  var length: ByteCount
  var digest: SHA256Digest
  var pieces: [SHA256Digest]
  var unpackedLength: ByteCount
  var title: String?
  var pageCount: Int?
  var cover: PackagePath?
  var readingOrder: [PackagePath]?
  var files: [ManifestFile]
}

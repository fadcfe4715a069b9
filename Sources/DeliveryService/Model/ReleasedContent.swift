import Commerce
import Crypto
import CoreTypes

/// The content version of a product that readers get now.
struct ReleasedContent: Sendable {
  var product: ProductIdentifier
  var version: ContentVersion
  var digest: SHA256Digest
  var length: ByteCount
  var manifestDigest: SHA256Digest
  /// Path of the cover within the package.
  var cover: String?
}

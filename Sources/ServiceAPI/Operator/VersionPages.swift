public import Commerce
public import CoreTypes
public import Crypto
import PullboxAPI

/// `GET /v1/operator/products/{id}/versions/{v}/pages`: the pages of a version in the order in which they are read.
public struct VersionPages: Codable, Sendable {
  /// One page: a file of the package.
  public struct Page: Codable, Hashable, Sendable {
    /// Its place in the reading order, from 1.
    public var number: Int
    /// Where the file is placed below the content's folder.
    public var path: String
    /// Bytes of the file.
    public var length: ByteCount
    /// The digest of the file: equal pages have equal ones, in whichever version. Absent in an archive that was published as its maker
    /// made it.
    public var digest: SHA256Digest?
    /// The CRC-32 of the file in 8 hexadecimal digits, in such an archive; absent otherwise.
    public var checksum: String?

    /// Creates the page from its members.
    public init(
      number: Int, path: String, length: ByteCount, digest: SHA256Digest? = nil, checksum: String? = nil
    ) {
      self.number = number
      self.path = path
      self.length = length
      self.digest = digest
      self.checksum = checksum
    }
  }

  /// The product.
  public var product: ProductIdentifier
  /// The version.
  public var version: ContentVersion
  /// The pages; none for a package that is a book or a document, or whose manifest names no order.
  public var pages: [Page]

  /// Creates the document from its members.
  public init(product: ProductIdentifier, version: ContentVersion, pages: [Page]) {
    self.product = product
    self.version = version
    self.pages = pages
  }
}

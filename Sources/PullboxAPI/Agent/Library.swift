public import Commerce
public import CoreTypes
public import Crypto

/// A placed content version.
public struct LibraryItem: Codable, Hashable, Sendable {
  /// The product.
  public var product: ProductIdentifier
  /// The content version.
  public var version: ContentVersion
  /// The file or folder, absolute.
  public var path: String
  /// The digest of the package it came in.
  public var digest: SHA256Digest
  /// Bytes of the placed files together.
  public var length: ByteCount
  /// When it came to lie in the library.
  public var placedAt: Timestamp
  /// The title that the manifest gives; absent when it gives none.
  public var title: String?

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, version: ContentVersion, path: String, digest: SHA256Digest,
    length: ByteCount,
    placedAt: Timestamp, title: String? = nil
  ) {
    self.product = product
    self.version = version
    self.path = path
    self.digest = digest
    self.length = length
    self.placedAt = placedAt
    self.title = title
  }
}

/// `GET /v1/library` of the agent.
public struct LibraryResponse: Codable, Sendable {
  /// Everything that is placed.
  public var items: [LibraryItem]

  /// Creates the document from its members.
  public init(items: [LibraryItem]) {
    self.items = items
  }
}

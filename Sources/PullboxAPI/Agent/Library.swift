public import Commerce
public import CoreTypes
public import Crypto

/// A placed content version.
public struct LibraryItem: Codable, Hashable, Sendable {
  public var product: ProductIdentifier
  public var version: ContentVersion
  /// The file or folder, absolute.
  public var path: String
  /// Of the package it came in.
  public var digest: SHA256Digest
  /// Of the placed files together.
  public var length: ByteCount
  public var placedAt: Timestamp
  public var title: String?

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
  public var items: [LibraryItem]

  public init(items: [LibraryItem]) {
    self.items = items
  }
}

public import Commerce
public import ContentPackage
public import CoreTypes
public import Crypto

/// What is to be downloaded, where, and with which ticket.
public struct DownloadTerms: Codable, Hashable, Sendable {
  public var product: ProductIdentifier
  public var version: ContentVersion
  public var length: ByteCount
  /// Of the package.
  public var digest: SHA256Digest
  /// Of the manifest's bytes: the grant authenticates the manifest, the manifest authenticates every piece.
  public var manifestDigest: SHA256Digest
  /// Absolute, or relative to the server's address as the client knows it.
  public var contentURL: String
  public var manifestURL: String
  public var ticket: String
  public var ticketExpires: Timestamp
  /// The keys that the product names; absent where it names none.
  public var publisherKeys: [PublisherKeyIdentifier]?
  /// The manifest's signatures by these keys, or by any where the product names none.
  public var signatures: [PublisherSignature]?
  /// What this device has completed of the product before: files of it that did not change need not be fetched, and count as
  /// delivered.
  public var previous: PreviousContent?

  public init(
    product: ProductIdentifier, version: ContentVersion, length: ByteCount, digest: SHA256Digest,
    manifestDigest: SHA256Digest, contentURL: String, manifestURL: String, ticket: String,
    ticketExpires: Timestamp, publisherKeys: [PublisherKeyIdentifier]? = nil,
    signatures: [PublisherSignature]? = nil, previous: PreviousContent? = nil
  ) {
    self.product = product
    self.version = version
    self.length = length
    self.digest = digest
    self.manifestDigest = manifestDigest
    self.contentURL = contentURL
    self.manifestURL = manifestURL
    self.ticket = ticket
    self.ticketExpires = ticketExpires
    self.publisherKeys = publisherKeys
    self.signatures = signatures
    self.previous = previous
  }
}

/// The answer to `POST /v1/grants/{grant}/tickets`.
public struct TicketResponse: Codable, Sendable {
  public var ticket: String
  public var ticketExpires: Timestamp

  public init(ticket: String, ticketExpires: Timestamp) {
    self.ticket = ticket
    self.ticketExpires = ticketExpires
  }
}

public import Commerce
public import ContentPackage
public import CoreTypes
public import Crypto
package import PullboxAPI

/// The terms of a download: the content, its addresses and its ticket.
public struct DownloadTerms: Codable, Hashable, Sendable {
  /// The product.
  public var product: ProductIdentifier
  /// The content version that was granted.
  public var version: ContentVersion
  /// Bytes of the package.
  public var length: ByteCount
  /// The digest of the package.
  public var digest: SHA256Digest
  /// The digest of the manifest's bytes: the grant authenticates the manifest, the manifest authenticates every piece.
  public var manifestDigest: SHA256Digest
  /// Absolute, or relative to the server's address as the client knows it.
  public var contentURL: String
  /// Where the manifest is: absolute, or relative like ``contentURL``.
  public var manifestURL: String
  /// The ticket that opens the two addresses, sent as a bearer token or as the query's `ticket`. Until it expires, it is
  /// as good as a key.
  public var ticket: String
  /// When the ticket ceases to open anything. A new one costs a request that the device signs, no receipt.
  public var ticketExpires: Timestamp
  /// The keys that the product names; absent where it names none.
  public var publisherKeys: [PublisherKeyIdentifier]?
  /// The manifest's signatures by these keys, or by any where the product names none.
  public var signatures: [PublisherSignature]?
  /// The content of the product that this device has completed before. Its unchanged files need not be fetched, and count
  /// as delivered.
  public var previous: PreviousContent?

  /// Creates the document from its members.
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

extension DownloadTerms: SelfWritten {
  package func write(to object: inout JSONObjectWriter) throws {
    object.set("contentURL", to: contentURL)
    object.set("digest", to: digest.hexadecimal)
    object.set("length", to: length.rawValue)
    object.set("manifestDigest", to: manifestDigest.hexadecimal)
    object.set("manifestURL", to: manifestURL)
    try object.set("previous", encoding: previous)
    object.set("product", to: product.description)
    try object.set("publisherKeys", encoding: publisherKeys)
    try object.set("signatures", encoding: signatures)
    object.set("ticket", to: ticket)
    object.set("ticketExpires", to: ticketExpires.rfc3339)
    object.set("version", to: version.description)
  }
}

/// The answer to `POST /v1/grants/{grant}/tickets`.
public struct TicketResponse: Codable, Sendable {
  /// The ticket that replaces the one before, which lasts until its own date.
  public var ticket: String
  /// When the ticket ceases to open anything. A new one costs a request that the device signs, no receipt.
  public var ticketExpires: Timestamp

  /// Creates the document from its members.
  public init(ticket: String, ticketExpires: Timestamp) {
    self.ticket = ticket
    self.ticketExpires = ticketExpires
  }
}

public import Commerce
public import CoreTypes

/// Where a device learns what becomes of what it owns: in the answers of `POST /v1/entitlements` and `POST /v1/grants`, and
/// renewed by every answer of the feed itself.
public struct FeedReference: Codable, Hashable, Sendable {
  /// Absolute, or relative to the server's address as the client knows it; it names the device.
  public var url: String
  /// Sent as a bearer token. It opens nothing but the feed, and tells what the device owns.
  public var token: String
  /// When the token ceases to be good: then the proof is shown again.
  public var expires: Timestamp

  /// Creates the document from its members.
  public init(url: String, token: String, expires: Timestamp) {
    self.url = url
    self.token = token
    self.expires = expires
  }
}

extension FeedReference: SelfWritten {
  package func write(to object: inout JSONObjectWriter) {
    object.set("expires", to: expires.rfc3339)
    object.set("token", to: token)
    object.set("url", to: url)
  }
}

/// A change to one product of a device's customer.
public struct FeedEntry: Codable, Hashable, Sendable {
  /// The kind of a change. A client ignores kinds that it does not know: they are of a later server.
  public enum Kind: String, CaseIterable, Sendable {
    /// It is owned, and there is content of it for the device.
    case issueAvailable = "issue-available"
    /// The content is another version than was told before.
    case correctionAvailable = "correction-available"
    /// It is owned no more, because of a refund: what paid for it is named.
    case revoked
    /// It is owned again, or offered again.
    case reinstated
    /// It is owned, and its content is offered no more.
    case withdrawn
    /// A subscription that does not renew ends within seven days.
    case subscriptionEnding = "subscription-ending"
    /// No period of a subscription runs, as far as the server has heard: a renewal shows in a newer proof.
    case subscriptionEnded = "subscription-ended"
  }

  /// One of ``Kind``, or what a later server says.
  public var kind: String
  /// The issue or the subscription.
  public var product: ProductIdentifier
  /// The series that it is of; absent for what is of none.
  public var publication: ProductIdentifier?
  /// When the issue appeared; absent for what has no such date.
  public var publicationDate: Timestamp?
  /// The content version that is offered; absent where none is.
  public var version: ContentVersion?
  /// Bytes of the package of ``version``.
  public var length: ByteCount?
  /// The transaction that pays, or paid.
  public var transaction: TransactionIdentifier
  /// Not to be fetched before: a release may spread its devices over a while. Absent for at once.
  public var notBefore: Timestamp?
  /// When a subscription ends, or ended; absent for an issue.
  public var until: Timestamp?
  /// With ``Kind/revoked``, true where the publisher leaves the content to those who have it; absent is false.
  public var keep: Bool?

  /// Creates the document from its members.
  public init(
    kind: Kind, product: ProductIdentifier, publication: ProductIdentifier? = nil,
    publicationDate: Timestamp? = nil, version: ContentVersion? = nil, length: ByteCount? = nil,
    transaction: TransactionIdentifier, notBefore: Timestamp? = nil, until: Timestamp? = nil,
    keep: Bool? = nil
  ) {
    self.kind = kind.rawValue
    self.product = product
    self.publication = publication
    self.publicationDate = publicationDate
    self.version = version
    self.length = length
    self.transaction = transaction
    self.notBefore = notBefore
    self.until = until
    self.keep = keep
  }

  /// Nil for a kind that this version does not know.
  public var known: Kind? { Kind(rawValue: kind) }
}

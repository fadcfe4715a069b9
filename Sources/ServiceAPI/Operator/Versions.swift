public import Commerce
public import ContentPackage
public import CoreTypes
public import Crypto
public import PullboxAPI

/// A content version as the operator sees it.
public struct VersionRecord: Codable, Sendable {
  /// The product.
  public var product: ProductIdentifier
  /// The version; it never changes.
  public var version: ContentVersion
  /// Where the version stands between upload and readers.
  public var state: VersionState
  /// Bytes of the package.
  public var length: ByteCount
  /// The digest of the package.
  public var digest: SHA256Digest
  /// The digest of the manifest's canonical bytes.
  public var manifestDigest: SHA256Digest
  /// Pieces of 1 MiB that the package has.
  public var pieces: Int
  /// Files that the package places.
  public var files: Int
  /// When the version was made from its upload, by the server's clock.
  public var created: Timestamp
  /// When it was last released; absent before.
  public var released: Timestamp?
  /// Why it was rejected or withdrawn.
  public var reason: String?
  /// While it is released: how many devices of a hundred get it.
  public var percentage: Int?
  /// Its release that waits for a date.
  public var scheduled: ScheduledRelease?
  /// Names of operator keys.
  public var submittedBy: String?
  /// The name of the operator key that approved it; absent before.
  public var approvedBy: String?
  /// Withdrawn so that grants made before open it no more.
  public var downloadsStopped: Bool?
  /// The audit entries of the version, the newest first; only where one version is asked for.
  public var history: [AuditEntry]?

  /// To whom the release opens an issue that is dated earlier; only in the answer to the first release of such an issue. The release's
  /// entry in ``history`` names the subscribers if there are any.
  public var lateRelease: LateRelease?

  /// Creates the record. The members that it does not take are nil until they are set.
  public init(
    product: ProductIdentifier, version: ContentVersion, state: VersionState, length: ByteCount,
    digest: SHA256Digest, manifestDigest: SHA256Digest, pieces: Int, files: Int, created: Timestamp,
    released: Timestamp? = nil, reason: String? = nil
  ) {
    self.product = product
    self.version = version
    self.state = state
    self.length = length
    self.digest = digest
    self.manifestDigest = manifestDigest
    self.pieces = pieces
    self.files = files
    self.created = created
    self.released = released
    self.reason = reason
  }
}

/// The first release of an issue behind its date: it opens to those who subscribed at its date, and to those whose subscriptions run
/// when it is released.
public struct LateRelease: Codable, Hashable, Sendable {
  /// The date.
  public var publicationDate: Timestamp
  /// Customers with a subscription that runs at the release, renewing or not, who had none at the date.
  public var laterSubscribers: Int

  /// Creates the document from its members.
  public init(publicationDate: Timestamp, laterSubscribers: Int) {
    self.publicationDate = publicationDate
    self.laterSubscribers = laterSubscribers
  }
}

/// Where a content version stands between upload and readers.
public enum VersionState: String, ListedWords, Sendable {
  case draft
  case submitted
  case approved
  case rejected
  case released
  /// Another version was released in its place.
  case superseded
  /// No new grants.
  case withdrawn
}

/// `POST /v1/operator/products/{id}/versions`.
public struct VersionSubmission: Codable, Sendable, OperatorWritten {
  /// A complete upload: its address as `Location` gave it, or the last part of that.
  public var upload: String
  /// The version that the upload becomes; it must not exist with other content.
  public var version: ContentVersion
  /// The manifest's exact bytes in base 64. Without one, the package must be a single file, and the server describes
  /// it itself.
  public var manifest: String?
  /// The publisher's signatures of that manifest; needed when the product names keys.
  public var signatures: [PublisherSignature]?

  /// Creates the request. Without a manifest the server describes a single file itself.
  public init(
    upload: String, version: ContentVersion, manifest: String? = nil, signatures: [PublisherSignature]? = nil
  ) {
    self.upload = upload
    self.version = version
    self.manifest = manifest
    self.signatures = signatures
  }
}

/// `POST /v1/operator/products/{id}/versions/{v}/release`; both members may be left out: to all devices, at once.
public struct ReleaseRequest: Codable, Sendable, OperatorWritten {
  /// How many devices of a hundred get it: 1 to 100. The others stay with the version that all devices get.
  public var percentage: Int?
  /// A date that has passed is at once.
  public var at: Timestamp?

  /// Creates the request. What is nil is left out of it, and stays as it is or takes its default.
  public init(percentage: Int? = nil, at: Timestamp? = nil) {
    self.percentage = percentage
    self.at = at
  }
}

/// A release that waits for its date.
public struct ScheduledRelease: Codable, Hashable, Sendable {
  /// When it is to be released.
  public var at: Timestamp
  /// 1 to 100.
  public var percentage: Int
  /// The name of the operator key that asked for it.
  public var by: String

  /// Creates the document from its members.
  public init(at: Timestamp, percentage: Int, by: String) {
    self.at = at
    self.percentage = percentage
    self.by = by
  }
}

/// `POST /v1/operator/products/{id}/versions/{v}/withdraw`; both members may be left out.
public struct WithdrawalRequest: Codable, Sendable, OperatorWritten {
  /// A sentence that the audit log keeps, of at most 2000 bytes; absent when none was given.
  public var reason: String?
  /// Downloads that run are broken off, and grants made before open the content no more.
  public var stopDownloads: Bool?

  /// Creates the request. What is nil is left out of it, and stays as it is or takes its default.
  public init(reason: String? = nil, stopDownloads: Bool? = nil) {
    self.reason = reason
    self.stopDownloads = stopDownloads
  }
}

/// The body of a step that an operator may give a reason for: reject, revoke, reinstate. The reason may be left out.
public struct ReasonBody: Codable, Sendable, OperatorWritten {
  /// A sentence that the audit log keeps, of at most 2000 bytes; absent when none was given.
  public var reason: String?

  /// Creates the request. What is nil is left out of it, and stays as it is or takes its default.
  public init(reason: String? = nil) {
    self.reason = reason
  }
}

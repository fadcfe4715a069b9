public import Commerce
public import ContentPackage
public import Digests
public import Measures

/// `POST /v1/operator/products/{id}/versions`.
public struct VersionSubmission: Codable, Sendable {
  /// A complete upload: its address as `Location` gave it, or the last part of that.
  public var upload: String
  public var version: ContentVersion
  /// The manifest's exact bytes in base 64. Without one, the package must be a finished file, and the server describes
  /// it itself.
  public var manifest: String?
  /// Of that manifest; needed when the product names keys.
  public var signatures: [PublisherSignature]?

  public init(
    upload: String, version: ContentVersion, manifest: String? = nil, signatures: [PublisherSignature]? = nil
  ) {
    self.upload = upload
    self.version = version
    self.manifest = manifest
    self.signatures = signatures
  }
}

/// Where a content version stands between upload and readers.
public enum VersionState: String, Codable, Sendable, CaseIterable {
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

/// A content version as the operator sees it.
public struct VersionRecord: Codable, Sendable {
  public var product: ProductIdentifier
  public var version: ContentVersion
  public var state: VersionState
  public var length: ByteCount
  public var digest: SHA256Digest
  public var manifestDigest: SHA256Digest
  public var pieces: Int
  public var files: Int
  public var created: Timestamp
  public var released: Timestamp?
  /// Why it was rejected or withdrawn.
  public var reason: String?
  /// While it is released: how many devices of a hundred get it.
  public var percentage: Int?
  /// Its release that waits for a date.
  public var scheduled: ScheduledRelease?
  /// Names of operator keys.
  public var submittedBy: String?
  public var approvedBy: String?
  /// Withdrawn so that grants made before open it no more.
  public var downloadsStopped: Bool?
  /// Who did what with it, the newest first; only where one version is asked for.
  public var history: [AuditEntry]?

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

/// The body of a review step; both members may be left out.
public struct ReviewDecision: Codable, Sendable {
  public var reason: String?

  public init(reason: String? = nil) {
    self.reason = reason
  }
}

/// One entry of the append-only audit log.
public struct AuditEntry: Codable, Sendable {
  public var at: Timestamp
  /// The name of the operator key.
  public var actor: String
  public var action: String
  public var subject: String
  public var detail: String?

  public init(at: Timestamp, actor: String, action: String, subject: String, detail: String? = nil) {
    self.at = at
    self.actor = actor
    self.action = action
    self.subject = subject
    self.detail = detail
  }
}

public import Commerce
public import Crypto
public import CoreTypes

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

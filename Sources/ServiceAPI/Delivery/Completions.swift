public import Commerce
public import CoreTypes
public import Crypto

/// `POST /v1/grants/{grant}/completion`: "verified and placed". Sent as the payload of a compact JWS signed with the
/// device key (`application/jose`), or as plain JSON by a client whose device gave no key.
public struct CompletionReport: Codable, Hashable, Sendable {
  /// The digest of the package that was verified.
  public var digest: SHA256Digest
  /// The version that was placed.
  public var version: ContentVersion
  /// The length of the package in bytes.
  public var length: ByteCount
  /// When the content came to lie where readers find it, by the device's clock.
  public var placedAt: Timestamp
  /// The grant the report is for; a signed report must name it, so that it fits no other.
  public var grant: GrantIdentifier?
  /// The device that placed it; a signed report must name it.
  public var device: DeviceIdentifier?

  /// Creates the document from its members.
  public init(
    digest: SHA256Digest, version: ContentVersion, length: ByteCount, placedAt: Timestamp,
    grant: GrantIdentifier? = nil, device: DeviceIdentifier? = nil
  ) {
    self.digest = digest
    self.version = version
    self.length = length
    self.placedAt = placedAt
    self.grant = grant
    self.device = device
  }
}

/// 200 when the store has finished the transaction, 202 while it has not.
public struct CompletionResponse: Codable, Sendable {
  /// Where the grant stands after the report.
  public var state: GrantState
  /// Products that the same transaction still owes this device.
  public var remaining: [ProductIdentifier]?

  /// Creates the document from its members.
  public init(state: GrantState, remaining: [ProductIdentifier]? = nil) {
    self.state = state
    self.remaining = remaining
  }
}

/// `POST /v1/grants/{grant}/failure`: the device has given the content up, because what it fetched is not what the manifest says.
public struct VerificationFailure: Codable, Hashable, Sendable {
  /// The digest of the package that was granted.
  public var digest: SHA256Digest
  /// The version that was granted.
  public var version: ContentVersion

  /// Creates the document from its members.
  public init(digest: SHA256Digest, version: ContentVersion) {
    self.digest = digest
    self.version = version
  }
}

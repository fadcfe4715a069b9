public import Commerce
public import Crypto

/// A version that a device has completed.
public struct PreviousContent: Codable, Hashable, Sendable {
  public var version: ContentVersion
  /// Of the package.
  public var digest: SHA256Digest

  public init(version: ContentVersion, digest: SHA256Digest) {
    self.version = version
    self.digest = digest
  }
}

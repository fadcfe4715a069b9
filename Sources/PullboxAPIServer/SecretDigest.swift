public import Crypto

/// Compares secrets by their digests, in constant time, so that neither the secret's length nor how much of
/// it was guessed can be told from the time.
public struct SecretDigest: Hashable, Sendable {
  /// The secret's SHA-256.
  public let digest: SHA256Digest

  /// The digest of `secret`, which is not kept.
  public init(of secret: String) {
    digest = SHA256Digest.of(secret.utf8)
  }

  /// A digest that was kept.
  public init(digest: SHA256Digest) {
    self.digest = digest
  }

  /// Whether `offered` is the secret; false for nil.
  public func matches(_ offered: String?) -> Bool {
    guard let offered else { return false }
    let left = SHA256Digest.of(offered.utf8).array
    let right = digest.array
    return equalInConstantTime(left.span, right.span)
  }
}

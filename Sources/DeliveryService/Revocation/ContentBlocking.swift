import Crypto

/// Closes and opens packages for grants that were made before.
protocol ContentBlocking: Sendable {
  /// Returns once running downloads of that package are being broken off; new requests for it are refused.
  func stop(content: SHA256Digest)
  func allow(content: SHA256Digest)
}

extension RevocationList: ContentBlocking {}

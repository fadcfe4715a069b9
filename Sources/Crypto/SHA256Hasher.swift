internal import COpenSSL

/// A running SHA-256. A plain value: copying it forks the computation, which costs 112 bytes and no allocation.
@safe
public struct SHA256Hasher: Sendable {
  private var state: SHA256_CTX

  public init() {
    state = SHA256_CTX()
    unsafe check(SHA256_Init(&state))
  }

  /// A hasher that has read `bytes`.
  init(startingWith bytes: [UInt8]) {
    self.init()
    update(bytes.span)
  }

  public mutating func update(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe check(SHA256_Update(&state, bytes.baseAddress, bytes.count))
    }
  }

  /// The digest of everything so far; the hasher can go on.
  public func finalize() -> SHA256Digest {
    var copy = self
    var digest = SHA256Digest.Bytes(repeating: 0)
    var span = digest.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { bytes in
      unsafe check(SHA256_Final(bytes.baseAddress, &copy.state))
    }
    return SHA256Digest(digest)
  }

  // With a state of our own these three cannot fail.
  private func check(_ result: Int32) {
    precondition(result == 1, "libcrypto refused a SHA-256 step")
  }
}

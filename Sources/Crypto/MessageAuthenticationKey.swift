/// A key for HMAC-SHA256 (RFC 2104). The hash states after the inner and the outer padded key are computed once; a MAC
/// then costs two copies and no allocation.
public struct MessageAuthenticationKey: Sendable {
  private let inner: SHA256Hasher
  private let outer: SHA256Hasher

  /// Any length; more than 64 bytes are hashed first, as the RFC says.
  public init(secret: [UInt8]) {
    let key = secret.count > 64 ? SHA256Digest.of(secret).array : secret
    let padded = key + [UInt8](repeating: 0, count: 64 - key.count)
    inner = SHA256Hasher(startingWith: padded.map { $0 ^ 0x36 })
    outer = SHA256Hasher(startingWith: padded.map { $0 ^ 0x5C })
  }

  /// HMAC of `message` followed by `appendix`.
  public func authenticate(_ message: Span<UInt8>, _ appendix: Span<UInt8>) -> SHA256Digest {
    var state = inner
    state.update(message)
    state.update(appendix)
    let digest = state.finalize().bytes
    state = outer
    state.update(digest.span)
    return state.finalize()
  }
}

/// Whether two byte sequences are equal, in a time that depends on their length alone.
public func equalInConstantTime(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
  guard left.count == right.count else { return false }
  var difference: UInt8 = 0
  for index in left.indices { difference |= left[index] ^ right[index] }
  return difference == 0
}

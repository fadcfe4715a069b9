/// A key for HMAC-SHA256 (RFC 2104). The hash states after the inner and the outer padded key are computed once; a MAC
/// then costs two copies and no allocation.
public struct MessageAuthenticationKey: Sendable {
  private let inner: SHA256Hasher
  private let outer: SHA256Hasher

  /// Any length; more than 64 bytes are hashed first, as the RFC says.
  public init(secret: [UInt8]) {
    let key = secret.count > 64 ? SHA256Digest.of(secret).array : secret
    let padded = key + [UInt8](repeating: 0, count: 64 - key.count)
    var inner = SHA256Hasher()
    inner.update(padded.map { $0 ^ 0x36 }.span)
    var outer = SHA256Hasher()
    outer.update(padded.map { $0 ^ 0x5C }.span)
    self.inner = inner
    self.outer = outer
  }

  /// HMAC of `message` followed by `appendix`.
  @inline(__always)
  public func authenticate(_ message: Span<UInt8>, _ appendix: Span<UInt8>) -> SHA256Digest {
    var inner = inner
    inner.update(message)
    inner.update(appendix)
    var outer = outer
    let digest = inner.finalize().bytes
    outer.update(digest.span)
    return outer.finalize()
  }
}

/// Whether two byte sequences are equal, in a time that depends on their length alone.
@inline(__always)
public func equalInConstantTime(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
  guard left.count == right.count else { return false }
  var difference: UInt8 = 0
  for index in left.indices { difference |= left[index] ^ right[index] }
  return difference == 0
}

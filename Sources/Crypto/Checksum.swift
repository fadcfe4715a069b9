internal import COpenSSL

/// A digest that bytes are said to have, with its algorithm.
public struct Checksum: Hashable, Sendable {
  /// The algorithm that the digest was computed with.
  public let algorithm: ChecksumAlgorithm
  /// The digest, in the algorithm's length.
  public let bytes: [UInt8]

  /// Nil unless `bytes` are as many as the algorithm makes.
  public init?(_ algorithm: ChecksumAlgorithm, _ bytes: [UInt8]) {
    guard bytes.count == algorithm.length else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// The checksum that a SHA-256 is.
  public init(_ digest: SHA256Digest) {
    algorithm = .sha256
    bytes = digest.array
  }

  /// The checksum of `bytes`.
  public static func of(_ bytes: some Collection<UInt8>, _ algorithm: ChecksumAlgorithm) -> Checksum {
    var hasher = ChecksumHasher(algorithm)
    hasher.update(Array(bytes).span)
    return hasher.finalize()
  }
}

/// The digests that other people's protocols ask for. Our own names and pieces are SHA-256 alone.
public enum ChecksumAlgorithm: Hashable, Sendable, CaseIterable {
  /// tus 1.0.0 makes it mandatory. Good against accidents only.
  case sha1
  case sha256
  case sha512

  /// Bytes of a digest.
  public var length: Int {
    switch self {
    case .sha1: 20
    case .sha256: 32
    case .sha512: 64
    }
  }
}

/// A running checksum. A plain value: copying it forks the computation.
@safe
public struct ChecksumHasher: Sendable {
  private enum State: Sendable {
    case sha1(SHA_CTX)
    case sha256(SHA256Hasher)
    case sha512(SHA512_CTX)
  }

  private var state: State

  /// Starts with no bytes.
  public init(_ algorithm: ChecksumAlgorithm) {
    switch algorithm {
    case .sha1:
      var context = SHA_CTX()
      unsafe Libcrypto.require(SHA1_Init(&context) == 1, "compute a checksum")
      state = .sha1(context)
    case .sha256:
      state = .sha256(SHA256Hasher())
    case .sha512:
      var context = SHA512_CTX()
      unsafe Libcrypto.require(SHA512_Init(&context) == 1, "compute a checksum")
      state = .sha512(context)
    }
  }

  /// Hashes the next bytes, any number of them.
  public mutating func update(_ bytes: Span<UInt8>) {
    switch state {
    case .sha1(var context):
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe Libcrypto.require(
          SHA1_Update(&context, bytes.baseAddress, bytes.count) == 1, "compute a checksum")
      }
      state = .sha1(context)
    case .sha256(var hasher):
      hasher.update(bytes)
      state = .sha256(hasher)
    case .sha512(var context):
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe Libcrypto.require(
          SHA512_Update(&context, bytes.baseAddress, bytes.count) == 1, "compute a checksum")
      }
      state = .sha512(context)
    }
  }

  /// The checksum of everything so far; more bytes may follow.
  public func finalize() -> Checksum {
    switch state {
    case .sha1(var context):
      return unsafe Self.finalize(.sha1) { unsafe SHA1_Final($0, &context) }
    case .sha256(let hasher):
      return Checksum(hasher.finalize())
    case .sha512(var context):
      return unsafe Self.finalize(.sha512) { unsafe SHA512_Final($0, &context) }
    }
  }

  private static func finalize(
    _ algorithm: ChecksumAlgorithm, _ step: (UnsafeMutablePointer<UInt8>?) -> Int32
  ) -> Checksum {
    var digest = [UInt8](repeating: 0, count: algorithm.length)
    unsafe digest.withUnsafeMutableBufferPointer {
      unsafe Libcrypto.require(step($0.baseAddress) == 1, "compute a checksum")
    }
    guard let checksum = Checksum(algorithm, digest) else {
      preconditionFailure("a digest has its algorithm's length")
    }
    return checksum
  }
}

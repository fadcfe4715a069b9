/// What bytes are said to add up to.
public struct Checksum: Hashable, Sendable {
  public let algorithm: ChecksumAlgorithm
  public let bytes: [UInt8]

  /// Nil unless `bytes` are as many as the algorithm makes.
  public init?(_ algorithm: ChecksumAlgorithm, _ bytes: [UInt8]) {
    guard bytes.count == algorithm.length else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

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

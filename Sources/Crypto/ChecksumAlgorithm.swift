/// The digests that other people's protocols ask for. Our own names and pieces are SHA-256 alone.
public enum ChecksumAlgorithm: Hashable, Sendable, CaseIterable {
  /// tus 1.0.0 makes it mandatory. Good against accidents only.
  case sha1
  case sha256
  case sha512

  /// Of a digest, in bytes.
  public var length: Int {
    switch self {
    case .sha1: 20
    case .sha256: 32
    case .sha512: 64
    }
  }
}

/// Why a received piece does not count.
public struct PieceMismatch: Error, Hashable, Sendable {
  public enum Reason: Hashable, Sendable {
    /// The package has no piece of this index.
    case unknown
    /// Bytes are missing.
    case notWhole
    /// The SHA-256 is not the manifest's.
    case otherBytes
  }

  public let index: Int
  public let reason: Reason
}

extension PieceMismatch: CustomStringConvertible {
  public var description: String {
    switch reason {
    case .unknown: "piece \(index): the package has no such piece"
    case .notWhole: "piece \(index): bytes are missing"
    case .otherBytes: "piece \(index): the bytes are not those the manifest lists"
    }
  }
}

package import Crypto
package import PullboxAPI

/// The `Upload-Checksum` of tus 1.0.0 (checksum extension): an algorithm's name and a digest in base 64.
package enum TusChecksum {
  package static let algorithms: [(name: String, algorithm: ChecksumAlgorithm)] = [
    ("sha1", .sha1), ("sha256", .sha256),
  ]

  /// Throws `checksum-unsupported` for an algorithm that is not in ``algorithms``, and `request-malformed` for a
  /// field that is not a name and a digest of its length.
  package static func parse(_ field: String) throws(Problem) -> Checksum {
    let parts = field.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      throw Problem(.requestMalformed, "Upload-Checksum is an algorithm and a digest")
    }
    guard let algorithm = algorithms.first(where: { $0.name == parts[0] })?.algorithm else {
      throw Problem(.checksumUnsupported)
    }
    guard let bytes = Base64.decode(parts[1]), let checksum = Checksum(algorithm, bytes) else {
      throw Problem(.requestMalformed, "Upload-Checksum holds no \(parts[0]) digest in base 64")
    }
    return checksum
  }
}

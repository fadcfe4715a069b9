import Crypto
import CoreTypes

/// Bytes at the end of an incoming file whose checksum is not known to be right yet, and how the file was before them.
struct PendingChecksum {
  let expected: Checksum
  var hasher: ChecksumHasher
  let before: PieceDigests

  init(expected: Checksum, before: PieceDigests) {
    self.expected = expected
    self.before = before
    hasher = ChecksumHasher(expected.algorithm)
  }
}

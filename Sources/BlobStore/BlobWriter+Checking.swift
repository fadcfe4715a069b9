import CoreTypes
public import Crypto
import SystemCalls

extension BlobWriter {
  /// From now on bytes are received on trial: until ``verifyChecksum()`` has found them right, a process that is killed leaves
  /// nothing of them behind. Throws `finished`, `outOfSpace`, `inputOutput`; then nothing has changed.
  public func expect(_ checksum: Checksum) throws(BlobStoreError) {
    precondition(check == nil, "one checksum at a time")
    let (length, synchronized) = (digests.length, synchronized)
    try withFile { _ throws(SystemError) in try record(synchronized, ceiling: length) }
    check = PendingChecksum(expected: checksum, before: digests)
  }

  /// The verdict: true keeps the bytes received since ``expect(_:)`` and returns when they are on the device; false takes
  /// them off again. When it throws, they count no more than before.
  public func verifyChecksum() throws(BlobStoreError) -> Bool {
    guard let check else { preconditionFailure("no checksum is expected") }
    guard check.hasher.finalize() == check.expected else {
      try rollBack()
      return false
    }
    self.check = nil
    do {
      try synchronize()
    } catch {
      self.check = check
      // The first error is the one that explains. What was written down lets none of these bytes count.
      try? rollBack()
      throw error
    }
    return true
  }

  /// Takes off what was received since ``expect(_:)``; nothing when no checksum is expected.
  public func rollBack() throws(BlobStoreError) {
    guard let check else { return }
    digests = check.before
    self.check = nil
    let (length, synchronized) = (check.before.length, synchronized)
    try withFile { file throws(SystemError) in
      try file.truncate(to: length)
      try record(synchronized)
    }
  }
}

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

public import CoreTypes
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

extension BlobWriter {
  /// Takes off what is behind `length`. What stays is read once, to have its digests. Nothing where no more is there.
  public func truncate(to length: ByteCount) throws(BlobStoreError) {
    precondition(check == nil, "the verdict on these bytes is still to come")
    guard length < digests.length else { return }
    let synchronized = min(synchronized, length)
    digests = try withFile { file throws(SystemError) in
      try record(synchronized)
      try file.truncate(to: length)
      return try PieceDigests(reading: file, upTo: length)
    }
  }

  /// The SHA-256 of a range of what was received, which is read for it.
  public func digest(of range: Range<ByteCount>) throws(BlobStoreError) -> SHA256Digest {
    precondition(range.upperBound <= digests.length, "these bytes are not there")
    return try withFile { file throws(SystemError) in
      var hasher = SHA256Hasher()
      var position = range.lowerBound
      var buffer: [UInt8] = []
      while position < range.upperBound {
        buffer.removeAll(keepingCapacity: true)
        let count = min(PieceDigests.pieceLength, range.upperBound - position)
        try file.read(upTo: Int(count.rawValue), at: position, into: &buffer)
        // Fewer than were written: the digest is another one, as it has to be.
        if buffer.isEmpty { break }
        hasher.update(buffer.span)
        position = position + ByteCount(buffer.count)
      }
      return hasher.finalize()
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

import Crypto
import CoreTypes
import SystemCalls

extension PackageBuilder {
  /// Reads the whole file once. Throws ``PackageValidationError`` when it has another length by the time it is read.
  static func digests(
    of file: borrowing FileDescriptor, length: ByteCount, progress: Progress?
  ) throws -> (digest: SHA256Digest, pieces: [SHA256Digest]) {
    let hasher = PieceHasher()
    let layout = PieceLayout(packageLength: length)
    for index in 0..<layout.count {
      let range = layout.range(of: index)
      var piece = hasher.makeBuffer()
      try file.read(upTo: range.count, at: ByteCount(range.lowerBound), into: &piece)
      guard piece.count == range.count else {
        throw PackageValidationError(.changedWhilePacking, "the file became shorter while it was read")
      }
      hasher.add(piece)
      progress?(ByteCount(range.upperBound), length)
    }
    return hasher.finish()
  }
}

import CoreTypes
package import Crypto
import Files
package import SystemCalls

/// Reads files in bounded steps.
package enum FileDigest {
  /// Bytes that are read at once.
  package static let bufferLength = 256 << 10

  /// The SHA-256 of `range` of `file`; nil when the file ends before.
  package static func of(_ file: borrowing FileDescriptor, in range: Range<Int64>) throws -> SHA256Digest? {
    var hasher = SHA256Hasher()
    let isWhole = try forEachChunk(of: file, in: range) { hasher.update($0) }
    return isWhole ? hasher.finalize() : nil
  }

  /// Calls `body` with the bytes of `range`, piece by piece; false when the file ends before.
  package static func forEachChunk(
    of file: borrowing FileDescriptor, in range: Range<Int64>, bufferLength: Int = bufferLength,
    _ body: (Span<UInt8>) throws -> Void
  ) throws -> Bool {
    var buffer: [UInt8] = []
    buffer.reserveCapacity(bufferLength)
    var position = range.lowerBound
    while position < range.upperBound {
      let count = Int(min(Int64(bufferLength), range.upperBound - position))
      buffer.removeAll(keepingCapacity: true)
      try file.read(upTo: count, at: ByteCount(position), into: &buffer)
      try body(buffer.span)
      guard buffer.count == count else { return false }
      position += Int64(count)
    }
    return true
  }
}

extension Directory {
  /// A hasher that has read the first `length` bytes of the file at `path`; nil where there are fewer, or the
  /// device does not give them back. Throws `CancellationError` soon after the task was cancelled.
  func hasher(of path: PackagePath, length: Int64) throws -> SHA256Hasher? {
    let file = try openFile(at: path)
    var hasher = SHA256Hasher()
    var buffer: [UInt8] = []
    var position: Int64 = 0
    while position < length {
      try Task.checkCancellation()
      buffer.removeAll(keepingCapacity: true)
      let count = Int(min(Int64(FileDigest.bufferLength), length - position))
      let isReadable = try operations.readIfReadable(
        upTo: count, of: file, at: ByteCount(position), into: &buffer)
      guard isReadable, buffer.count == count else { return nil }
      hasher.update(buffer.span)
      position += Int64(count)
    }
    return hasher
  }
}

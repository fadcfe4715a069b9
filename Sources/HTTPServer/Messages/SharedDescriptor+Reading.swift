internal import CoreTypes
internal import SystemCalls

extension SharedDescriptor {
  /// Reads a range of the file into memory, off the loops: for a handler that looks into a file which it also sends. Bytes that are not
  /// there yet are brought first. Returns fewer bytes where the file is shorter. Throws ``FilePresenceError`` for bytes that do not come,
  /// also where the task is cancelled, and `SystemError`.
  public func bytes(in range: Range<Int64>) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while Int64(bytes.count) < Int64(range.count) {
      let rest = range.lowerBound + Int64(bytes.count)..<range.upperBound
      try await prepare(rest)
      let part = try await BlockingPool.shared.run { () throws(SystemError) -> [UInt8]? in
        let end = self.presence?.hold(rest) ?? rest.upperBound
        defer { self.presence?.release(rest.lowerBound..<end) }
        // It may have gone since it was brought.
        guard end > rest.lowerBound else { return nil }
        var part: [UInt8] = []
        try self.descriptor.read(
          upTo: Int(end - rest.lowerBound), at: ByteCount(rest.lowerBound), into: &part)
        return part
      }
      guard let part else { continue }
      guard !part.isEmpty else { break }
      bytes += part
    }
    return bytes
  }
}

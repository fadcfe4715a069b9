import CoreTypes
import Crypto
import SystemCalls

/// Reads single files out of a package, without unpacking it and in bounded memory. Its bytes come from the package's holder, which may have
/// to bring them first.
package enum PackedFileReader {
  /// Returns the bytes of a range of the package; fewer where it ends before.
  package typealias Source = (Range<Int64>) async throws -> [UInt8]

  /// Bytes of the package that are read at once.
  static let partLength: Int64 = 128 << 10

  /// Calls `body` with the bytes of the file as they come. Throws `PackageValidationError` for a file that does not unpack to its length,
  /// and what the source and `body` throw.
  package static func forEachPart(
    of file: PackedFile, reading source: Source, _ body: ([UInt8]) async throws -> Void
  ) async throws {
    guard file.method == .deflated else {
      return try await forEachPart(of: file.range, named: file.name, reading: source, body)
    }
    let inflater = try FileInflater(length: file.length, name: file.name)
    try await forEachPart(of: file.range, named: file.name, reading: source) { part in
      inflater.feed(part)
      while let bytes = try await BlockingPool.computing.run({ try inflater.next() }) {
        try await body(bytes)
      }
    }
    try inflater.finish()
  }

  /// Reads the file through and compares it with what is known of its bytes; returns its first ones, `count` at most. Throws as
  /// ``forEachPart(of:reading:_:)`` does, and `PackageValidationError` for other bytes.
  package static func check(
    _ file: PackedFile, reading source: Source, returning count: Int
  ) async throws -> [UInt8] {
    var start: [UInt8] = []
    let isRight: Bool
    switch file.check {
    case .digest(let digest):
      var hasher = SHA256Hasher()
      try await forEachPart(of: file, reading: source) { part in
        hasher.update(part.span)
        start += part.prefix(count - start.count)
      }
      isRight = hasher.finalize() == digest
    case .checksum(let checksum):
      var check = CRC32()
      try await forEachPart(of: file, reading: source) { part in
        check.update(part.span)
        start += part.prefix(count - start.count)
      }
      isRight = check.value == checksum
    }
    guard isRight else {
      throw PackageValidationError(
        .fileDigestMismatch, "\(file.name): its bytes are not those that were published")
    }
    return start
  }

  /// The first bytes of the file, `count` at most; nothing is compared. Throws as ``forEachPart(of:reading:_:)`` does.
  package static func start(
    of file: PackedFile, reading source: Source, count: Int
  ) async throws -> [UInt8] {
    let stored = file.range.lowerBound..<min(file.range.upperBound, file.range.lowerBound + Int64(count))
    let bytes = try await source(stored)
    guard file.method == .deflated else { return bytes }
    let inflater = try FileInflater(length: file.length, name: file.name)
    inflater.feed(bytes)
    return Array((try inflater.next() ?? []).prefix(count))
  }

  private static func forEachPart(
    of range: Range<Int64>, named name: String, reading source: Source,
    _ body: ([UInt8]) async throws -> Void
  ) async throws {
    var position = range.lowerBound
    while position < range.upperBound {
      let end = min(range.upperBound, position + partLength)
      let part = try await source(position..<end)
      guard Int64(part.count) == end - position else {
        throw PackageValidationError(.fileLengthMismatch, path: name, "the package ends inside the file")
      }
      try await body(part)
      position = end
    }
  }
}

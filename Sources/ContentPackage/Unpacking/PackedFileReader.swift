import CoreTypes
import Crypto
import SystemCalls

<<<<<<< HEAD:Sources/ContentDelivery/Content/PackedFileReader.swift
/// Something that packed files are read out of: a package that is open for sending, or one where it lies.
package protocol PackedFileSource: Sendable {
  /// The bytes there; fewer at the end.
  func bytes(in range: Range<Int64>) async throws -> [UInt8]
}

extension SharedDescriptor: PackedFileSource {}

/// Reads single files out of a package, without unpacking it and in bounded memory. What is not there yet is
/// brought.
=======
/// Reads single files out of a package, without unpacking it and in bounded memory. Its bytes come from the package's holder, which may have
/// to bring them first.
>>>>>>> 3517c587 (Read comics that are one archive page by page on a device as well):Sources/ContentPackage/Unpacking/PackedFileReader.swift
package enum PackedFileReader {
  /// Returns the bytes of a range of the package; fewer where it ends before.
  package typealias Source = (Range<Int64>) async throws -> [UInt8]

  /// Bytes of the package that are read at once.
  static let partLength: Int64 = 128 << 10

  /// Calls `body` with the bytes of the file as they come. Throws `PackageValidationError` for a file that does not unpack to its length,
  /// and what the source and `body` throw.
  package static func forEachPart(
<<<<<<< HEAD:Sources/ContentDelivery/Content/PackedFileReader.swift
    of file: PackedFile, in package: some PackedFileSource, _ body: ([UInt8]) async throws -> Void
=======
    of file: PackedFile, reading source: Source, _ body: ([UInt8]) async throws -> Void
>>>>>>> 3517c587 (Read comics that are one archive page by page on a device as well):Sources/ContentPackage/Unpacking/PackedFileReader.swift
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
<<<<<<< HEAD:Sources/ContentDelivery/Content/PackedFileReader.swift
    _ file: PackedFile, in package: some PackedFileSource, returning count: Int
=======
    _ file: PackedFile, reading source: Source, returning count: Int
>>>>>>> 3517c587 (Read comics that are one archive page by page on a device as well):Sources/ContentPackage/Unpacking/PackedFileReader.swift
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
<<<<<<< HEAD:Sources/ContentDelivery/Content/PackedFileReader.swift
    of file: PackedFile, in package: some PackedFileSource, count: Int
=======
    of file: PackedFile, reading source: Source, count: Int
>>>>>>> 3517c587 (Read comics that are one archive page by page on a device as well):Sources/ContentPackage/Unpacking/PackedFileReader.swift
  ) async throws -> [UInt8] {
    let stored = file.range.lowerBound..<min(file.range.upperBound, file.range.lowerBound + Int64(count))
    let bytes = try await source(stored)
    guard file.method == .deflated else { return bytes }
    let inflater = try FileInflater(length: file.length, name: file.name)
    inflater.feed(bytes)
    return Array((try inflater.next() ?? []).prefix(count))
  }

  private static func forEachPart(
<<<<<<< HEAD:Sources/ContentDelivery/Content/PackedFileReader.swift
    of range: Range<Int64>, named name: String, in package: some PackedFileSource,
=======
    of range: Range<Int64>, named name: String, reading source: Source,
>>>>>>> 3517c587 (Read comics that are one archive page by page on a device as well):Sources/ContentPackage/Unpacking/PackedFileReader.swift
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

import ContentPackage
package import CoreTypes
package import Crypto

/// All that a cache has to know of a package before its first byte: its length, and what each piece has to be.
package struct PackageDescription: Hashable, Sendable {
  /// Bytes of the package.
  package let length: ByteCount
  /// The digests of the pieces of 1 MiB, in order.
  package let pieces: [SHA256Digest]
  /// Kept beside the package for the owner of the cache, as it is: its manifest, for example.
  package let document: [UInt8]

  package init(length: ByteCount, pieces: [SHA256Digest], document: [UInt8] = []) {
    self.length = length
    self.pieces = pieces
    self.document = document
  }

  /// Whether there are as many digests as a package of that length has pieces, and no more blocks than a cache counts.
  var isConsistent: Bool {
    length >= .zero && PieceLayout(packageLength: length).count == pieces.count
      && BlockLayout(packageLength: length).count <= BlockWords.maximumCount
  }
}

/// The description as a file: a line `pullbox-pieces 1 LENGTH PIECES DOCUMENT`, the three being numbers in decimal (bytes of the
/// package, pieces, bytes of the document); the digests, 32 bytes each; the document; and the SHA-256 of all that, 32 bytes. A file
/// that was written in part, or is of another kind, has another digest at its end.
extension PackageDescription {
  private static let name = "pullbox-pieces 1"
  /// Bytes of the longest file that is read.
  static let maximumFileLength = ByteCount.mebibytes(64)

  /// The bytes of the file.
  func encoded() -> [UInt8] {
    var bytes = Array("\(Self.name) \(length.rawValue) \(pieces.count) \(document.count)\n".utf8)
    for piece in pieces { bytes += piece.array }
    bytes += document
    return bytes + SHA256Digest.of(bytes).array
  }

  /// Nil unless these are all bytes of such a file.
  init?(decoding bytes: [UInt8]) {
    let digestLength = SHA256Digest.length
    guard bytes.count >= digestLength,
      SHA256Digest(bytes.suffix(digestLength)) == .of(bytes.dropLast(digestLength)),
      let lineEnd = bytes.firstIndex(of: UInt8(ascii: "\n"))
    else { return nil }
    let line = String(decoding: bytes[..<lineEnd], as: UTF8.self)
    guard line.hasPrefix(Self.name + " ") else { return nil }
    let numbers = line.dropFirst(Self.name.count + 1).split(separator: " ").compactMap { Int($0) }
    guard numbers.count == 3, numbers[1] >= 0, numbers[1] <= bytes.count / digestLength else { return nil }
    let digests = bytes[(lineEnd + 1)...].prefix(numbers[1] * digestLength)
    let document = bytes[(lineEnd + 1)...].dropFirst(digests.count).dropLast(digestLength)
    guard digests.count == numbers[1] * digestLength, document.count == numbers[2] else { return nil }
    let pieces = stride(from: digests.startIndex, to: digests.endIndex, by: digestLength).compactMap {
      SHA256Digest(digests[$0..<$0 + digestLength])
    }
    self.init(length: ByteCount(numbers[0]), pieces: pieces, document: Array(document))
    guard isConsistent else { return nil }
  }
}

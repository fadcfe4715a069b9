import ContentPackage
import CoreTypes
import Crypto

/// The knowledge of a cache that was closed in order. It is written last and removed first, so that a cache that was not closed has none;
/// and it counts only in the run of the machine in which it was written: what was not synced is there just as long.
struct CacheIndex: Hashable, Sendable {
  /// A package of the index.
  struct Package: Hashable, Sendable {
    /// Bytes of the package.
    let length: ByteCount
    /// The file's change time in nanoseconds. The rest counts only for the file that still has it.
    let changed: Int64
    /// When each block was used last, as a number that counts up.
    let uses: [UInt32]
    /// Whether each piece is verified.
    let verified: [Bool]
  }

  /// The name of the run of the machine.
  let bootIdentifier: String
  /// The packages by their digests.
  let packages: [SHA256Digest: Package]
}

/// The index as a file, in lines: `pullbox-cache 1 BOOT`; for each package `DIGEST LENGTH CHANGED USES PIECES`, where the uses of its
/// blocks have commas between them, and its pieces are a digit each, 1 for one that is verified, or `-` where there are none; and the
/// SHA-256 of all that. A file that was written in part has another digest at its end, or none.
extension CacheIndex {
  /// The beginning of the first line.
  private static let name = "pullbox-cache 1"
  /// Bytes of the longest file that is read.
  static let maximumFileLength = ByteCount.mebibytes(256)

  /// The bytes of the file.
  func encoded() -> [UInt8] {
    var text = "\(Self.name) \(bootIdentifier)\n"
    for (digest, package) in packages.sorted(by: { $0.key.hexadecimal < $1.key.hexadecimal }) {
      let uses = package.uses.map(String.init).joined(separator: ",")
      let pieces = String(package.verified.map { $0 ? "1" : "0" })
      text += "\(digest) \(package.length.rawValue) \(package.changed) "
      text += "\(uses.isEmpty ? "-" : uses) \(pieces.isEmpty ? "-" : pieces)\n"
    }
    return Array((text + "\(SHA256Digest.of(text.utf8))\n").utf8)
  }

  /// Nil unless these are all bytes of such a file.
  init?(decoding bytes: [UInt8]) {
    let endLength = 2 * SHA256Digest.length + 1
    guard bytes.count > endLength, bytes.last == UInt8(ascii: "\n") else { return nil }
    let content = bytes.dropLast(endLength)
    let end = String(decoding: bytes.suffix(endLength).dropLast(), as: UTF8.self)
    guard SHA256Digest(hexadecimal: end) == .of(content) else { return nil }
    let lines = content.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    guard let first = lines.first, first.hasPrefix(Self.name + " ") else { return nil }
    bootIdentifier = String(first.dropFirst(Self.name.count + 1))
    var packages: [SHA256Digest: Package] = [:]
    for line in lines.dropFirst() {
      guard let (digest, package) = Self.package(line) else { return nil }
      packages[digest] = package
    }
    self.packages = packages
  }

  /// A package by its line; nil where its numbers do not fit its length.
  private static func package(_ line: String) -> (SHA256Digest, Package)? {
    let words = line.split(separator: " ")
    guard words.count == 5, let digest = SHA256Digest(hexadecimal: words[0]), let length = Int64(words[1]),
      length >= 0, let changed = Int64(words[2])
    else { return nil }
    let uses = words[3] == "-" ? [] : words[3].split(separator: ",").compactMap { UInt32($0) }
    let verified = words[4] == "-" ? [] : words[4].map { $0 == "1" }
    let layout = BlockLayout(packageLength: ByteCount(length))
    guard uses.count == layout.count, verified.count == layout.pieces.count else { return nil }
    return (
      digest, Package(length: ByteCount(length), changed: changed, uses: uses, verified: verified)
    )
  }
}

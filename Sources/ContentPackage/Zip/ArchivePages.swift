package import CoreTypes

/// Finds the pages of a comic book that was published as the archive its maker made (`.cbz`), in what its last bytes say: the archive need
/// not lie here whole. It was inspected when it was published, so that what is read here is in order; where it is not, nothing is found.
///
/// ```swift
/// let tail = try await package.bytes(in: ArchivePages.tail(of: length))
/// guard let directory = ArchivePages.directory(inTail: tail, of: length) else { return nil }
/// let entries = ArchivePages.entries(inDirectory: try await package.bytes(in: directory))
/// ```
package enum ArchivePages {
  /// Bytes that a directory takes at most: 65,535 entries with names of some hundred bytes.
  package static let maximumDirectory = ByteCount.mebibytes(8)
  /// Bytes of a file from its front that say whether it is a picture.
  package static let startLength = PictureFormat.startLength

  /// The part of an archive of that many bytes in which its closing records lie.
  package static func tail(of length: ByteCount) -> Range<Int64> {
    max(0, length.rawValue - Int64(ThirdPartyZipEnd.tailLength))..<length.rawValue
  }

  /// Where the archive's directory lies, by the bytes of ``tail(of:)``; nil where there is none, or it takes more than
  /// ``maximumDirectory``.
  package static func directory(inTail bytes: [UInt8], of length: ByteCount) -> Range<Int64>? {
    guard Int64(bytes.count) == Int64(tail(of: length).count),
      let end = ThirdPartyZipEnd.find(inTail: bytes, at: UInt64(tail(of: length).lowerBound)),
      end.central.upperBound - end.central.lowerBound <= UInt64(maximumDirectory.rawValue)
    else { return nil }
    return Int64(end.central.lowerBound)..<Int64(end.central.upperBound)
  }

  /// The files that may be pages, by their names, in the order in which they are read; nil for bytes that are no directory.
  package static func entries(inDirectory bytes: [UInt8]) -> [ArchivedFile]? {
    var entries: [ArchivedFile] = []
    var position = 0
    while position < bytes.count {
      let start = Array(bytes[position..<min(bytes.count, position + ZipFormat.centralLength)])
      guard let length = ZipCentralDirectoryHeader.length(from: start), length <= bytes.count - position,
        let record = ZipCentralDirectoryHeader(Array(bytes[position..<position + length]))
      else { return nil }
      position += length
      let entry = ThirdPartyZipEntry(record)
      guard !entry.isFolder, !entry.isEncrypted, record.length > 0, let method = entry.method,
        FileName.mayBePage(entry.named.path)
      else { continue }
      entries.append(
        ArchivedFile(
          path: entry.named.path, length: ByteCount(Int64(record.length)),
          headerOffset: Int64(record.headerOffset), storedLength: Int64(record.storedLength), method: method,
          checksum: record.checksum))
    }
    return NaturalOrder.sorted(entries) { $0.path }
  }
}

extension ArchivedFile {
  /// The part of the archive that tells where the file's bytes begin.
  package var header: Range<Int64> { headerOffset..<headerOffset + Int64(ZipFormat.localLength) }

  /// The file; nil unless `bytes`, which are those of ``header``, are a header.
  package func file(behind bytes: [UInt8]) -> PackedFile? {
    guard bytes.count == ZipFormat.localLength, bytes.littleEndian(at: 0) == ZipFormat.localSignature else {
      return nil
    }
    let names =
      Int64(bytes.littleEndian(at: 26, as: UInt16.self))
      + Int64(bytes.littleEndian(at: 28, as: UInt16.self))
    let start = headerOffset + Int64(ZipFormat.localLength) + names
    return PackedFile(
      name: path, range: start..<start + storedLength, length: length, method: method,
      check: .checksum(checksum))
  }
}

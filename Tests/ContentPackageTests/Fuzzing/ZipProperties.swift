import CoreTypes

@testable import ContentPackage

/// The directory and the closing records of an archive of any tool's, as they are read from its last bytes:
/// nothing that is told lies outside of what can be, and what was found is found again where it is written.
enum ZipProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    checkEnd(bytes) ?? checkDirectory(bytes) ?? checkHeaders(bytes)
  }

  private static func checkEnd(_ bytes: [UInt8]) -> String? {
    let length = ByteCount(bytes.count)
    let tail = ArchivePages.tail(of: length)
    let last = Array(bytes[Int(tail.lowerBound)..<Int(tail.upperBound)])
    guard let end = ThirdPartyZipEnd.find(inTail: last, at: UInt64(tail.lowerBound)) else {
      return ArchivePages.directory(inTail: last, of: length) == nil ? nil : "a directory without an end"
    }
    guard end.central.upperBound <= end.offset, end.offset <= UInt64(bytes.count) else {
      return "a directory at \(end.central), and its end at \(end.offset)"
    }
    // The same records by our own writer, behind a directory of that length.
    let record = ZipEndOfCentralDirectory(
      entryCount: end.entryCount, centralOffset: end.central.lowerBound,
      centralLength: end.central.upperBound - end.central.lowerBound)
    let again = ThirdPartyZipEnd.find(inTail: record.bytes, at: end.central.upperBound)
    guard again?.entryCount == end.entryCount, again?.central == end.central else {
      return "closing records are read otherwise than they were written"
    }
    guard let directory = ArchivePages.directory(inTail: last, of: length) else { return nil }
    guard (0...Int64(bytes.count)).contains(directory.upperBound), directory.lowerBound >= 0 else {
      return "a directory at \(directory) of \(bytes.count)"
    }
    return checkDirectory(Array(bytes[Int(directory.lowerBound)..<Int(directory.upperBound)]))
  }

  /// The bytes as a directory: each file that is told of can be asked for, whatever its header says.
  private static func checkDirectory(_ bytes: [UInt8]) -> String? {
    guard let entries = ArchivePages.entries(inDirectory: bytes) else { return nil }
    guard entries.count <= bytes.count / ZipFormat.centralLength else {
      return "\(entries.count) files in \(bytes.count) bytes"
    }
    let header: [UInt8] = [0x50, 0x4B, 3, 4] + [UInt8](repeating: 0xFF, count: ZipFormat.localLength - 4)
    for entry in entries {
      guard entry.length.rawValue > 0, entry.storedLength >= 0, entry.headerOffset >= 0 else {
        return "\(entry)"
      }
      guard let file = entry.file(behind: header), file.range.lowerBound >= entry.header.upperBound,
        Int64(file.range.count) == entry.storedLength
      else { return "a file before its header: \(entry)" }
      if entry.path.isEmpty || entry.path.hasPrefix("/") { return "a page at \(entry.path.debugDescription)" }
    }
    return nil
  }

  /// The bytes as one record after the other, at every place, and as extra fields.
  private static func checkHeaders(_ bytes: [UInt8]) -> String? {
    for value in ZipCentralDirectoryHeader.values64(in: bytes).indices where value >= bytes.count {
      return "more numbers than bytes"
    }
    let name = ArchiveName(bytes)
    if name.fault == nil {
      let segments = name.path.split(separator: "/", omittingEmptySubsequences: false)
      if segments.contains("..") || name.path.hasPrefix("/") {
        return "a name leads to \(name.path.debugDescription)"
      }
    }
    guard let length = ZipCentralDirectoryHeader.length(from: bytes), length <= bytes.count,
      let record = ZipCentralDirectoryHeader(Array(bytes[..<length]))
    else { return nil }
    return record.length < 1 << 62 && record.storedLength < 1 << 62 && record.headerOffset < 1 << 62
      && record.bytes.count == length ? nil : "a record of numbers beyond its bounds"
  }
}

import ContentPackage
import CoreTypes
import Glibc
import SystemCalls

@testable import ContentPacking

/// A single file of any tool's, whole, as it is inspected when it is published: it is taken or refused with reasons, and read the same
/// twice; the pages of what is taken are the files of its directory, which is read by itself. Of an archive that is taken each local header
/// stands behind the file before it, says what the directory says, and leads devices to the bytes that were inspected.
enum ArchiveProperties {
  /// A file of this process alone, written anew for each input.
  private static let path = "/dev/shm/pullbox-fuzz-\(getpid()).cbz"

  static func check(_ bytes: [UInt8]) -> String? {
    withFile(of: bytes) { file in
      let archive = try ThirdPartyZipInspection(file, length: ByteCount(bytes.count), limits: .standard)
      if let archive, let broken = checkLocalHeaders(archive, bytes) { return broken }
      return try check(file, bytes)
    }
  }

  /// Returns the word of `body` about a file with these bytes, or the error that it throws.
  static func withFile(
    of bytes: [UInt8], _ body: (borrowing FileDescriptor) throws -> String?
  ) -> String? {
    do {
      let file = try FileDescriptor.open(path, .readWrite, options: [.create, .truncate], permissions: 0o600)
      _ = unsafe path.withCString { unsafe unlink($0) }
      try file.write(bytes.span, at: .zero)
      return try body(file)
    } catch {
      return "\(error)"
    }
  }

  private static func check(_ file: borrowing FileDescriptor, _ bytes: [UInt8]) throws -> String? {
    let length = ByteCount(bytes.count)
    let found = try SingleFileInspection(file, name: "a.cbz", length: length, limits: .standard)
    let again = try SingleFileInspection(file, name: "a.cbz", length: length, limits: .standard)
    guard found.metadata == again.metadata, found.faults == again.faults else {
      return "read otherwise than before"
    }
    guard found.faults.isEmpty, found.report.format == .comicBookZip else { return nil }
    let pages = found.metadata.readingOrder ?? []
    guard Set(pages).count == pages.count else { return "a page is read twice" }
    guard let entries = directory(of: bytes) else { return "what is published has no directory" }
    // What devices and readers are shown is what was inspected.
    let listed = Set(entries.map(\.path))
    for page in pages where !listed.contains("\(page)") { return "the page \(page) is not in the directory" }
    return nil
  }

  /// The directory as devices find it.
  private static func directory(of bytes: [UInt8]) -> [ArchivedFile]? {
    let length = ByteCount(bytes.count)
    let tail = ArchivePages.tail(of: length)
    let last = Array(bytes[Int(tail.lowerBound)..<Int(tail.upperBound)])
    guard let directory = ArchivePages.directory(inTail: last, of: length) else { return nil }
    return ArchivePages.entries(
      inDirectory: Array(bytes[Int(directory.lowerBound)..<Int(directory.upperBound)]))
  }

  /// From front to back by the headers' own words (APPNOTE 4.3.7): a number is the lower byte first.
  private static func checkLocalHeaders(_ archive: ThirdPartyZipInspection, _ bytes: [UInt8]) -> String? {
    guard archive.faults.isEmpty else { return nil }
    func word(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
    var position = 0
    var places: [Int64: Range<UInt64>] = [:]
    for entry in archive.entries {
      let start = Int(entry.record.headerOffset)
      guard start >= position, start + 30 <= bytes.count, bytes[start...].starts(with: [0x50, 0x4B, 3, 4])
      else { return "\(entry.name) has no header behind the file before it" }
      let names = start + 30..<start + 30 + word(start + 26)
      let begin = names.upperBound + word(start + 28)
      guard begin <= bytes.count, bytes[names].elementsEqual(entry.record.name),
        word(start + 8) == Int(entry.record.methodNumber)
      else { return "the header of \(entry.name) is another file's" }
      guard let data = entry.data, data.lowerBound == begin,
        data.upperBound == UInt64(begin) + entry.record.storedLength, data.upperBound <= bytes.count
      else { return "\(entry.name) does not begin behind its header" }
      position = Int(data.upperBound)
      places[Int64(start)] = data
    }
    guard places.count == archive.entries.count else { return "two files have one header" }
    for file in directory(of: bytes) ?? [] {
      let header = Array(bytes[Int(file.header.lowerBound)..<Int(file.header.upperBound)])
      guard let found = file.file(behind: header), let place = places[file.headerOffset],
        found.range == Int64(place.lowerBound)..<Int64(place.upperBound)
      else { return "a device finds \(file.path) where it was not inspected" }
    }
    return nil
  }
}

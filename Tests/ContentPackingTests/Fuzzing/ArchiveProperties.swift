import ContentPackage
import CoreTypes
import Glibc
import SystemCalls

@testable import ContentPacking

/// A single file of any tool's, whole, as it is inspected when it is published: it is taken or refused with reasons, and read the same
/// twice; the pages of what is taken are the files of its directory, which is read by itself.
enum ArchiveProperties {
  /// A file of this process alone, written anew for each input.
  private static let path = "/dev/shm/pullbox-fuzz-\(getpid()).cbz"

  static func check(_ bytes: [UInt8]) -> String? {
    do {
      let file = try FileDescriptor.open(path, .readWrite, options: [.create, .truncate], permissions: 0o600)
      _ = unsafe path.withCString { unsafe unlink($0) }
      try file.write(bytes.span, at: .zero)
      return try check(file, bytes)
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
    let tail = ArchivePages.tail(of: length)
    let last = Array(bytes[Int(tail.lowerBound)..<Int(tail.upperBound)])
    guard let directory = ArchivePages.directory(inTail: last, of: length),
      let entries = ArchivePages.entries(
        inDirectory: Array(bytes[Int(directory.lowerBound)..<Int(directory.upperBound)]))
    else { return "what is published has no directory" }
    // What devices and readers are shown is what was inspected.
    let listed = Set(entries.map(\.path))
    for page in pages where !listed.contains("\(page)") { return "the page \(page) is not in the directory" }
    return nil
  }
}

import CoreTypes

@testable import ContentPackage
@testable import ContentPacking

/// The archive of a folder's package, as a server inspects it: what is taken is byte for byte what the entries make, local headers,
/// directory and closing records, with the files' bytes and nothing but zeros between them.
enum PackageProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    ArchiveProperties.withFile(of: bytes) { file in
      let length = ByteCount(bytes.count)
      let archive = try ArchiveInspection(file, length: length, limits: .standard)
      guard try ArchiveInspection(file, length: length, limits: .standard).faults == archive.faults else {
        return "read otherwise than before"
      }
      guard archive.faults.isEmpty else { return nil }
      guard archive.checksums.count == archive.entries.count else { return "a file has no path" }
      return checkBytes(of: archive.entries, bytes)
    }
  }

  private static func checkBytes(of entries: [ZipEntry], _ bytes: [UInt8]) -> String? {
    var written: [UInt8] = []
    var directory: [UInt8] = []
    for entry in entries {
      let name = String(decoding: entry.name, as: UTF8.self)
      guard entry.headerOffset >= written.count, entry.dataEnd <= bytes.count else {
        return "\(name) lies where another file does, or outside"
      }
      written += [UInt8](repeating: 0, count: Int(entry.headerOffset) - written.count)
      written += entry.localHeader
      written += bytes[Int(entry.dataOffset)..<Int(entry.dataEnd)]
      directory += entry.centralHeader
    }
    let end = ZipEndOfCentralDirectory(
      entryCount: UInt64(entries.count), centralOffset: UInt64(written.count),
      centralLength: UInt64(directory.count))
    return written + directory + end.bytes == bytes ? nil : "a package has bytes that its entries do not make"
  }
}

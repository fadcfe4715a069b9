import ContentPackage
import CoreTypes
import Crypto
import HTTPServer
import ServiceRuntime
import Synchronization

/// A placed folder as one archive, which is made while it is sent: its files as they are, by path, without times, so that its bytes are the
/// same each time and any range of them can be sent.
struct FolderArchive: Sendable {
  /// A run of bytes of the archive.
  private enum Content: Sendable {
    case bytes([UInt8])
    /// The file of that number in the manifest.
    case file(Int)
  }

  private struct Part: Sendable {
    var content: Content
    var range: Range<Int64>
  }

  private let manifest: Manifest
  private let parts: [Part]
  /// Bytes of all of it.
  let length: Int64

  /// `checksums` are the CRC-32 of the manifest's files, in their order.
  init(_ manifest: Manifest, checksums: [UInt32]) {
    self.manifest = manifest
    var parts: [Part] = []
    var end: Int64 = 0
    func append(_ content: Content, _ length: Int64) {
      parts.append(Part(content: content, range: end..<end + length))
      end += length
    }
    var directory: [UInt8] = []
    for (index, file) in manifest.files.enumerated() {
      let length = UInt64(file.length.rawValue)
      let entry = ZipEntry(
        name: Array(file.path.text.utf8), method: .stored, checksum: checksums[index], storedLength: length,
        length: length, headerOffset: UInt64(end))
      let header = entry.localHeader
      append(.bytes(header), Int64(header.count))
      append(.file(index), file.length.rawValue)
      directory += entry.centralHeader
    }
    let closing = ZipEndOfCentralDirectory(
      entryCount: UInt64(manifest.files.count), centralOffset: UInt64(end),
      centralLength: UInt64(directory.count))
    directory += closing.bytes
    append(.bytes(directory), Int64(directory.count))
    self.parts = parts
    length = end
  }

  /// Bytes of a file that are read at once.
  private static let chunk: Int64 = 256 << 10

  /// Writes a part of the archive. Throws, which ends the response short, once a file is not as it was published.
  func write(_ range: Range<Int64>, from files: PlacedFiles, to writer: ResponseWriter) async throws {
    for part in parts where part.range.overlaps(range) {
      let wanted = part.range.clamped(to: range)
      let (start, end) = (
        wanted.lowerBound - part.range.lowerBound, wanted.upperBound - part.range.lowerBound
      )
      switch part.content {
      case .bytes(let bytes): try await writer.write(Array(bytes[Int(start)..<Int(end)]))
      case .file(let index):
        let file = try await files.open(index, of: manifest)
        for position in stride(from: start, to: end, by: Int(Self.chunk)) {
          try await writer.write(
            try await file.bytes(in: position..<min(end, position + Self.chunk)))
        }
      }
    }
  }
}

/// The CRC-32 of placed files, which archives tell: read once for as long as they are remembered.
final class FolderChecksums: Sendable {
  /// Folders that are remembered, and bytes that they may take together.
  private static let maximumCount = 256
  private static let maximumLength = ByteCount.mebibytes(4)
  private static let chunk: Int64 = 1 << 20

  private let checksums = Mutex(
    RecentlyUsedCache<SHA256Digest, [UInt32]>(maximumCount: maximumCount, maximumLength: maximumLength))

  /// Reads all files of the folder the first time. Throws what opening throws, and `content-damaged` where a file changed meanwhile.
  func checksums(of manifest: Manifest, in files: PlacedFiles) async throws -> [UInt32] {
    if let known = checksums.locked({ $0.value(for: manifest.identity) }) { return known }
    var found: [UInt32] = []
    for index in manifest.files.indices {
      let file = try await files.open(index, of: manifest)
      var check = CRC32()
      for position in stride(from: Int64(0), to: file.length.rawValue, by: Int(Self.chunk)) {
        let end = min(file.length.rawValue, position + Self.chunk)
        let bytes = try await file.bytes(in: position..<end)
        check.update(bytes.span)
      }
      found.append(check.value)
    }
    // What was read is what was compared, also where something was written meanwhile.
    try await files.requireWhole(manifest)
    let made = found
    checksums.locked {
      $0.insert(made, for: manifest.identity, length: ByteCount(4 * made.count))
    }
    return made
  }
}

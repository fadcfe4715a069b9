import CoreTypes
import Crypto
import PackageTesting
import SystemCalls

@testable import ContentPackage
@testable import ContentPacking

/// A small archive that a test spoils, with the manifest that would go with it: lengths and digests of the package are
/// always those of its bytes, so that only what was planted is wrong.
struct PlantedArchive {
  struct Item {
    var name: String
    var content: [UInt8]
    var method = StorageMethod.stored
    /// The bytes in the archive, when not the content itself.
    var stored: [UInt8]?
    /// Put before the entry, belonging to nothing.
    var gap = 0
    var gapByte: UInt8 = 0x41

    var storedBytes: [UInt8] { stored ?? content }
  }

  var items: [Item]
  /// Spoil the headers, which otherwise are those of a package.
  var editEntry: (Int, inout ZipEntry) -> Void = { _, _ in }
  var editLocal: (Int, inout [UInt8]) -> Void = { _, _ in }
  var editCentral: (inout [[UInt8]]) -> Void = { _ in }
  var gapBeforeCentral = 0
  var editEnd: (inout ZipEndOfCentralDirectory) -> Void = { _ in }
  var tail: [UInt8] = []
  /// Spoils the manifest.
  var editDraft: (inout ManifestDraft) throws -> Void = { _ in }

  init(_ items: [Item] = Self.items) {
    self.items = items
  }

  static let items = [
    Item(name: "a.jpg", content: Array("first page".utf8)),
    Item(name: "b.jpg", content: Array("second".utf8)),
    Item(
      name: "c.txt", content: [UInt8](repeating: 0x61, count: 300), method: .deflated, stored: deflatedText),
  ]

  /// 300 times the letter a, as a raw deflate stream (made by zlib through Python).
  static let deflatedText: [UInt8] = [0x4B, 0x4C, 0x1C, 0x05, 0xC4, 0x02, 0x00]

  /// Everything that the inspector finds.
  func faults() throws -> [PackageValidationIssue] {
    let folder = try Folder()
    let (bytes, files) = assemble()
    try folder.write(bytes, to: "package")
    var draft = try makeDraft()
    draft.length = ByteCount(bytes.count)
    draft.digest = .of(bytes)
    draft.pieces = [.of(bytes)]
    draft.files = files
    draft.unpackedLength = files.reduce(.zero) { $0 + $1.length }
    try editDraft(&draft)
    draft.unpackedLength = draft.files.reduce(.zero) { $0 + $1.length }
    let manifest = try Manifest(draft, limits: .standard)
    return try PackageInspector().faults(
      in: try FileDescriptor.open("\(folder.path)/package", .readOnly),
      received: ReceivedPackage(length: ByteCount(bytes.count), digest: .of(bytes), pieces: [.of(bytes)]),
      against: manifest)
  }

  /// "code path" of each fault.
  func found() throws -> Set<String> {
    Set(try faults().map { fault in "\(fault.code.rawValue) \(fault.path ?? "-")" })
  }

  private func assemble() -> (bytes: [UInt8], files: [ManifestFile]) {
    var bytes: [UInt8] = []
    var central: [[UInt8]] = []
    var files: [ManifestFile] = []
    for (index, item) in items.enumerated() {
      bytes += [UInt8](repeating: item.gapByte, count: item.gap)
      var entry = ZipEntry(
        name: Array(item.name.utf8), method: item.method, checksum: CRC32.of(item.content),
        storedLength: UInt64(item.storedBytes.count), length: UInt64(item.content.count),
        headerOffset: UInt64(bytes.count))
      let offset = entry.dataOffset
      editEntry(index, &entry)
      var header = entry.localHeader
      editLocal(index, &header)
      bytes += header + item.storedBytes
      central.append(entry.centralHeader)
      guard let path = try? PackagePath(item.name) else { continue }
      files.append(
        ManifestFile(
          path: path, offset: ByteCount(offset), storedLength: ByteCount(item.storedBytes.count),
          length: ByteCount(item.content.count), method: item.method, digest: .of(item.content)))
    }
    bytes += [UInt8](repeating: 0, count: gapBeforeCentral)
    editCentral(&central)
    let records = Array(central.joined())
    var end = ZipEndOfCentralDirectory(
      entryCount: UInt64(central.count), centralOffset: UInt64(bytes.count),
      centralLength: UInt64(records.count))
    bytes += records
    editEnd(&end)
    bytes += end.bytes + tail
    return (bytes, files.sorted { $0.path < $1.path })
  }
}

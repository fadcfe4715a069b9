import ContentPackage
import CoreTypes
import Crypto
import SystemCalls

/// Remembers which pieces of a download are written, one bit each, in a small file of a fixed layout
/// (docs/formats/agent-state.md). A bit is set in place as soon as its piece is in the page cache: that
/// survives the process. After the machine has started anew, the bits are only a hint, and the staging area
/// reads the pieces again.
struct PieceJournal: ~Copyable, Sendable {
  /// What an earlier process, or an earlier transfer of this one, left.
  struct Contents: Hashable, Sendable {
    var pieces: PieceMap
    var resumption: StagingArea.Resumption
  }

  private static let magic: [UInt8] = Array("pbxpcs\u{0}\u{1}".utf8)
  private static let bootLength = 36
  private static let bitmapOffset = 8 + 8 + SHA256Digest.length + bootLength + SHA256Digest.length

  private let file: FileDescriptor
  private var bitmap: [UInt8]

  /// Replaces what is at `path`, durably.
  init(creating path: String, manifest: Manifest, pieces: PieceMap, boot: String) throws(SystemError) {
    bitmap = pieces.encoded
    let bytes = Self.header(manifest, boot: boot) + bitmap
    try DurableFile.write(bytes.span, to: path, permissions: 0o600)
    file = try FileDescriptor.open(path, .readWrite)
  }

  /// Nil when there is nothing at `path` that can be used for `manifest`: no file, a damaged or empty one,
  /// another manifest's.
  static func read(_ path: String, manifest: Manifest, boot: String) throws(SystemError) -> Contents? {
    guard let status = try FileSystem.status(of: path), status.kind == .regular else { return nil }
    let layout = manifest.layout
    let length = bitmapOffset + (layout.count + 7) / 8
    guard status.length == ByteCount(length) else { return nil }
    let bytes = try FileSystem.read(path, upTo: status.length)
    guard bytes.count == length else { return nil }
    let bootStart = 16 + SHA256Digest.length
    let writtenBoot = String(decoding: bytes[bootStart..<bootStart + bootLength], as: UTF8.self)
    guard bytes.starts(with: header(manifest, boot: writtenBoot)),
      let pieces = PieceMap(encoded: bytes[bitmapOffset...], layout: layout)
    else { return nil }
    return Contents(pieces: pieces, resumption: writtenBoot == padded(boot) ? .sameBoot : .afterRestart)
  }

  /// Sets the piece's bit, which survives this process, though not the machine.
  mutating func record(_ piece: Int) throws(SystemError) {
    bitmap[piece / 8] |= 1 << UInt8(piece % 8)
    let byte = [bitmap[piece / 8]]
    try file.write(byte.span, at: ByteCount(Self.bitmapOffset + piece / 8))
  }

  private static func header(_ manifest: Manifest, boot: String) -> [UInt8] {
    var bytes = magic
    let count = UInt64(manifest.layout.count)
    bytes += (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
    bytes += manifest.manifestDigest.array
    bytes += padded(boot).utf8
    bytes += SHA256Digest.of(bytes).array
    return bytes
  }

  /// The kernel's identifier has 36 characters already.
  private static func padded(_ boot: String) -> String {
    let beginning = String(decoding: boot.utf8.prefix(bootLength), as: UTF8.self)
    return beginning + String(repeating: " ", count: max(0, bootLength - beginning.utf8.count))
  }
}

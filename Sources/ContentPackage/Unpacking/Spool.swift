import CoreTypes
import Crypto
import Files
import SystemCalls

/// The data that a staging area keeps beside the files, so that another process can tell which pieces were
/// written:
///
///     gaps   the bytes of the package that belong to no file, one behind the other; holes are zeros
///     p5     all bytes of piece 5, which holds bytes of a deflated file that is not whole yet
///     c7     where the inflation of file 7 can be taken up again
///
/// Nothing here is believed when it is read: pieces and files have digests in the manifest, checkpoints one of their own.
struct Spool: ~Copyable, Sendable {
  /// Pieces held at most.
  static let pieceLimit = 16
  /// So many are left to those that come in order.
  static let orderedPieces = 6

  private static let checkpointMagic: [UInt8] = Array("pbxinf\u{0}\u{1}".utf8)
  private static let checkpointLength = 8 + 5 * 8 + 2 * SHA256Digest.length

  /// The pieces held.
  private(set) var pieces: Set<Int> = []
  private let directory: Directory
  private let operations: any FileOperations
  private var gaps: OpenFiles.File?
  private let isReadOnly: Bool

  /// One that is read beside its owner changes nothing.
  init(_ directory: consuming Directory, isReadOnly: Bool = false) {
    operations = directory.operations
    self.directory = directory
    self.isReadOnly = isReadOnly
  }

  /// Finds what an earlier process left; removes what it does not know.
  mutating func recover() throws(SystemError) {
    for entry in try directory.entries() {
      if let piece = Self.number(entry.name, "p") {
        pieces.insert(piece)
      } else if entry.name != "gaps", Self.number(entry.name, "c") == nil {
        if entry.kind == .directory {
          try directory.removeRecursively(entry.name)
        } else {
          try directory.removeFile(entry.name)
        }
      }
    }
  }

  private static func number(_ name: String, _ prefix: Character) -> Int? {
    guard name.first == prefix, let number = Int(name.dropFirst()), "\(prefix)\(number)" == name else {
      return nil
    }
    return number
  }

  /// The name of the file with all bytes of a piece.
  static func name(ofPiece piece: Int) -> String { "p\(piece)" }

  mutating func keep(_ bytes: Span<UInt8>, of piece: Int) throws(SystemError) {
    let file = try directory.openForWriting(named: Self.name(ofPiece: piece))
    try operations.write(bytes, to: file, at: .zero)
    pieces.insert(piece)
  }

  /// Nil unless `count` bytes are held of the piece, and can be read.
  func bytes(of piece: Int, count: Int) throws(SystemError) -> [UInt8]? {
    guard pieces.contains(piece) else { return nil }
    var bytes: [UInt8] = []
    let file = try directory.open(Self.name(ofPiece: piece), .readOnly)
    let isReadable = try operations.readIfReadable(upTo: count, of: file, at: .zero, into: &bytes)
    return isReadable && bytes.count == count ? bytes : nil
  }

  mutating func drop(_ piece: Int) throws(SystemError) {
    guard pieces.contains(piece) else { return }
    try directory.removeFile(Self.name(ofPiece: piece))
    pieces.remove(piece)
  }

  /// Padding is not written: what is not there counts as zeros.
  mutating func keepGap(_ bytes: Span<UInt8>, at offset: Int64) throws(SystemError) {
    guard bytes.indices.contains(where: { bytes[$0] != 0 }) else { return }
    let file: OpenFiles.File
    if let gaps { file = gaps } else { file = OpenFiles.File(try directory.openForWriting(named: "gaps")) }
    gaps = file
    try operations.write(bytes, to: file.descriptor, at: ByteCount(offset))
  }

  /// Appends `count` bytes of the gaps from `offset`; false where they cannot be read.
  mutating func readGap(
    _ count: Int, at offset: Int64, into buffer: inout [UInt8]
  ) throws(SystemError) -> Bool {
    let end = buffer.count + count
    if gaps == nil, try directory.statusOfFile(named: "gaps") != nil {
      gaps = OpenFiles.File(
        try isReadOnly ? directory.open("gaps", .readOnly) : directory.openForWriting(named: "gaps"))
    }
    if let gaps {
      let isReadable = try operations.readIfReadable(
        upTo: count, of: gaps.descriptor, at: ByteCount(offset), into: &buffer)
      guard isReadable else { return false }
    }
    buffer.append(contentsOf: repeatElement(0, count: end - buffer.count))
    return true
  }
}

extension Spool {
  func keep(_ checkpoint: InflatingFile.Checkpoint, of file: Int) throws(SystemError) {
    var bytes = Self.checkpointMagic
    for number in [
      Int64(file), checkpoint.position, Int64(checkpoint.boundary.unusedBits),
      Int64(checkpoint.boundary.lastByte), checkpoint.length,
    ] {
      bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    bytes += checkpoint.hasher.finalize().array
    bytes += SHA256Digest.of(bytes).array
    try operations.write(
      bytes.span, to: try directory.openForWriting(named: "c\(file)"), at: .zero)
  }

  /// Nil when there is none of the file, or a damaged one. `hasher` is called with the length of what was inflated, and
  /// answers a hasher that has read so many bytes of the file.
  func checkpoint(
    of file: Int, hashing hasher: (Int64) throws -> SHA256Hasher?
  ) throws -> InflatingFile.Checkpoint? {
    guard try directory.statusOfFile(named: "c\(file)")?.length == ByteCount(Self.checkpointLength) else {
      return nil
    }
    var bytes: [UInt8] = []
    let isReadable = try operations.readIfReadable(
      upTo: Self.checkpointLength, of: try directory.open("c\(file)", .readOnly), at: .zero, into: &bytes)
    let end = Self.checkpointLength - SHA256Digest.length
    guard isReadable, bytes.count == Self.checkpointLength, bytes.starts(with: Self.checkpointMagic),
      SHA256Digest(bytes[end...]) == SHA256Digest.of(bytes[..<end])
    else { return nil }
    let numbers = (1...5).map { Self.number(bytes[($0 * 8)..<($0 * 8 + 8)]) }
    guard numbers[0] == Int64(file), (0...7).contains(numbers[2]), let hasher = try hasher(numbers[4]),
      SHA256Digest(bytes[(end - SHA256Digest.length)..<end]) == hasher.finalize()
    else { return nil }
    return InflatingFile.Checkpoint(
      position: numbers[1],
      boundary: InflateStream.Boundary(
        unusedBits: Int(numbers[2]), lastByte: UInt8(truncatingIfNeeded: numbers[3])),
      length: numbers[4], hasher: hasher)
  }

  /// From eight bytes, the lowest first.
  private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
  }

  func removeCheckpoint(of file: Int) throws(SystemError) {
    do {
      try directory.removeFile("c\(file)")
    } catch {
      guard error.isFileMissing else { throw error }
    }
  }
}

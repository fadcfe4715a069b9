import ContentPackage
import CoreTypes
import SystemCalls

/// An entry of a central directory as it was found, before anything about it is believed. Its form is APPNOTE
/// 4.3.12.
struct ZipCentralDirectoryHeader: Sendable {
  /// All of its bytes.
  let bytes: [UInt8]
  let flags: UInt16
  let methodNumber: UInt16
  let checksum: UInt32
  let storedLength: UInt64
  let length: UInt64
  let headerOffset: UInt64
  /// The bytes as they are, in any encoding.
  let name: [UInt8]
  /// The file mode, when the archive was made on Unix.
  let mode: UInt32?

  /// How many bytes the record has whose first 46 are `start`; nil when these are no such record.
  static func length(from start: [UInt8]) -> Int? {
    guard start.count >= ZipFormat.centralLength, start.littleEndian(at: 0) == ZipFormat.centralSignature
    else {
      return nil
    }
    return ZipFormat.centralLength + Int(start.littleEndian(at: 28, as: UInt16.self))
      + Int(start.littleEndian(at: 30, as: UInt16.self)) + Int(start.littleEndian(at: 32, as: UInt16.self))
  }

  /// `bytes` is one whole record. Nil when a member is said to be in a 64-bit field that is not there, or is
  /// beyond what a file can have.
  init?(_ bytes: [UInt8]) {
    let nameLength = Int(bytes.littleEndian(at: 28, as: UInt16.self))
    let extraLength = Int(bytes.littleEndian(at: 30, as: UInt16.self))
    let nameEnd = ZipFormat.centralLength + nameLength
    var values = Self.values64(in: Array(bytes[nameEnd..<nameEnd + extraLength]))[...]
    func value(at offset: Int) -> UInt64? {
      let short: UInt32 = bytes.littleEndian(at: offset)
      return short == ZipFormat.elsewhere32 ? values.popFirst() : UInt64(short)
    }
    guard let length = value(at: 24), let storedLength = value(at: 20), let headerOffset = value(at: 42),
      // Sums of them cannot overflow then.
      [length, storedLength, headerOffset].allSatisfy({ $0 < 1 << 62 })
    else { return nil }
    self.bytes = bytes
    self.length = length
    self.storedLength = storedLength
    self.headerOffset = headerOffset
    flags = bytes.littleEndian(at: 8)
    methodNumber = bytes.littleEndian(at: 10)
    checksum = bytes.littleEndian(at: 16)
    name = Array(bytes[ZipFormat.centralLength..<nameEnd])
    let madeBy: UInt16 = bytes.littleEndian(at: 4)
    let attributes: UInt32 = bytes.littleEndian(at: 38)
    mode = madeBy & 0xFF00 == ZipFormat.madeOnUnix ? attributes >> 16 : nil
  }

  /// The entry it describes; nil when its method is none that packages use.
  var entry: ZipEntry? {
    guard let method = StorageMethod(zipNumber: methodNumber) else { return nil }
    return ZipEntry(
      name: name, method: method, checksum: checksum, storedLength: storedLength, length: length,
      headerOffset: headerOffset)
  }

  /// The 64-bit values of the ZIP64 extra field, in their order; none without one. APPNOTE 4.5.3 has their
  /// order: length, stored length, offset, of those that are elsewhere.
  static func values64(in extra: [UInt8]) -> [UInt64] {
    var position = 0
    while position + 4 <= extra.count {
      let count = Int(extra.littleEndian(at: position + 2, as: UInt16.self))
      guard position + 4 + count <= extra.count else { return [] }
      if extra.littleEndian(at: position) == ZipFormat.extra64 {
        return stride(from: position + 4, through: position + 4 + count - 8, by: 8).map {
          extra.littleEndian(at: $0)
        }
      }
      position += 4 + count
    }
    return []
  }
}

/// Reads a central directory from front to back through one bounded window.
struct ZipCentralDirectoryReader: ~Copyable {
  private enum Step {
    case record(ZipCentralDirectoryHeader)
    /// There is no record at that position, or one that does not fit into the directory.
    case malformed(at: UInt64)
    case end
  }

  private static let windowLength = 256 << 10

  private let range: Range<UInt64>
  private var position: UInt64
  private var window: [UInt8] = []
  private var windowStart: UInt64 = 0

  /// `range` is the directory's place in the file.
  init(range: Range<UInt64>) {
    self.range = range
    position = range.lowerBound
  }

  /// Hands over every record in turn, at most `count` of them, which is what the closing record says there are; answers where
  /// the directory itself is not in order.
  mutating func forEachRecord(
    of count: UInt64, in file: borrowing FileDescriptor, _ body: (ZipCentralDirectoryHeader) -> Void
  ) throws(SystemError) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    var found: UInt64 = 0
    reading: while true {
      switch try next(in: file) {
      case .end: break reading
      case .malformed(let position):
        faults.append(
          PackageValidationIssue(.archiveMalformed, "the central directory has no record at byte \(position)")
        )
        break reading
      case .record(let record):
        found += 1
        // More records than were announced are a disagreement, said once.
        guard found <= count else { break reading }
        body(record)
      }
    }
    if found != count {
      faults.append(
        PackageValidationIssue(
          .archiveHeadersDisagree, "the central directory has not the \(count) records it is said to"))
    }
    return faults
  }

  /// The position moves on behind a whole record only.
  private mutating func next(in file: borrowing FileDescriptor) throws(SystemError) -> Step {
    guard position < range.upperBound else { return .end }
    guard let start = try bytes(ZipFormat.centralLength, in: file),
      let length = ZipCentralDirectoryHeader.length(from: start), let whole = try bytes(length, in: file),
      let record = ZipCentralDirectoryHeader(whole)
    else { return .malformed(at: position) }
    position += UInt64(length)
    return .record(record)
  }

  /// `count` bytes from the position on; nil when they reach past the directory or the file.
  private mutating func bytes(_ count: Int, in file: borrowing FileDescriptor) throws(SystemError) -> [UInt8]?
  {
    guard UInt64(count) <= range.upperBound - position else { return nil }
    var index = Int(position - windowStart)
    if position < windowStart || index + count > window.count {
      window.removeAll(keepingCapacity: true)
      let wanted = max(count, Int(min(UInt64(Self.windowLength), range.upperBound - position)))
      try file.read(upTo: wanted, at: ByteCount(position), into: &window)
      windowStart = position
      index = 0
      guard window.count >= count else { return nil }
    }
    return Array(window[index..<index + count])
  }
}

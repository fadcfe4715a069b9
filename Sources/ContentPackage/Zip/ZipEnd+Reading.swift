import Measures
import SystemCalls

extension ZipEnd {
  /// An archive's closing records as they were found.
  struct Found {
    let end: ZipEnd
    /// Where the first of them starts.
    let offset: UInt64
  }

  private static let maximumCommentLength = 65_535

  /// Looks for the closing records at the end of a file of `length` bytes; nil when there are none. A comment behind them
  /// is looked over only where `allowingComment` says so.
  static func find(
    in file: borrowing FileDescriptor, length: ByteCount, allowingComment: Bool
  ) throws(SystemError) -> Found? {
    let wanted = ZipFormat.endLength + (allowingComment ? maximumCommentLength : 0)
    let count = Int(min(Int64(wanted), length.rawValue))
    guard count >= ZipFormat.endLength else { return nil }
    var tail: [UInt8] = []
    try file.read(upTo: count, at: length - ByteCount(count), into: &tail)
    guard tail.count == count else { return nil }
    for position in stride(from: count - ZipFormat.endLength, through: 0, by: -1)
    where tail.littleEndian(at: position) == ZipFormat.endSignature {
      let commentLength = Int(tail.littleEndian(at: position + 20, as: UInt16.self))
      guard position + ZipFormat.endLength + commentLength == count else { continue }
      let record = Array(tail[position..<position + ZipFormat.endLength])
      return try read(record, at: UInt64(length.rawValue) - UInt64(count - position), in: file)
    }
    return nil
  }

  private static func read(
    _ record: [UInt8], at offset: UInt64, in file: borrowing FileDescriptor
  ) throws(SystemError) -> Found? {
    let count: UInt16 = record.littleEndian(at: 10)
    let centralLength: UInt32 = record.littleEndian(at: 12)
    let centralOffset: UInt32 = record.littleEndian(at: 16)
    guard
      count == ZipFormat.elsewhere16 || centralLength == ZipFormat.elsewhere32
        || centralOffset == ZipFormat.elsewhere32
    else {
      let end = ZipEnd(
        entryCount: UInt64(count), centralOffset: UInt64(centralOffset), centralLength: UInt64(centralLength))
      return Found(end: end, offset: offset)
    }
    return try read64(before: offset, in: file)
  }

  /// The 64-bit record stands right before its locator, which stands right before the 32-bit record.
  private static func read64(
    before offset: UInt64, in file: borrowing FileDescriptor
  ) throws(SystemError) -> Found? {
    let count = ZipFormat.end64Length + ZipFormat.locator64Length
    guard offset >= UInt64(count) else { return nil }
    let start = offset - UInt64(count)
    var bytes: [UInt8] = []
    try file.read(upTo: count, at: ByteCount(start), into: &bytes)
    guard bytes.count == count, bytes.littleEndian(at: 0) == ZipFormat.end64Signature,
      bytes.littleEndian(at: ZipFormat.end64Length) == ZipFormat.locator64Signature,
      bytes.littleEndian(at: ZipFormat.end64Length + 8) == start
    else { return nil }
    let end = ZipEnd(
      entryCount: bytes.littleEndian(at: 32), centralOffset: bytes.littleEndian(at: 48),
      centralLength: bytes.littleEndian(at: 40))
    return Found(end: end, offset: start)
  }
}

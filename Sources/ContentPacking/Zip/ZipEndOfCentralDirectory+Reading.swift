import ContentPackage
import CoreTypes
import SystemCalls

extension ZipEndOfCentralDirectory {
  /// An archive's closing records as they were found.
  struct Found {
    let end: ZipEndOfCentralDirectory
    /// Where the first of them starts.
    let offset: UInt64
  }

  /// The closing records at the very end of a file of `length` bytes; nil when there are none, or a comment follows them.
  static func find(
    in file: borrowing FileDescriptor, length: ByteCount
  ) throws(SystemError) -> Found? {
    let count = ZipFormat.endLength
    guard length >= ByteCount(count) else { return nil }
    let offset = length - ByteCount(count)
    var record: [UInt8] = []
    try file.read(upTo: count, at: offset, into: &record)
    guard record.count == count, record.littleEndian(at: 0) == ZipFormat.endSignature,
      record.littleEndian(at: 20, as: UInt16.self) == 0
    else { return nil }
    return try read(record, at: UInt64(offset.rawValue), in: file)
  }

  /// The 64-bit record is read only where a member of this one says that it is elsewhere.
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
      let end = ZipEndOfCentralDirectory(
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
    let end = ZipEndOfCentralDirectory(
      entryCount: bytes.littleEndian(at: 32), centralOffset: bytes.littleEndian(at: 48),
      centralLength: bytes.littleEndian(at: 40))
    return Found(end: end, offset: start)
  }
}

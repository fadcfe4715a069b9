import ContentPackage
import CoreTypes
import SystemCalls

/// The closing records of an archive of any tool's. A 64-bit record counts where its locator stands right
/// before the 32-bit one (APPNOTE 4.3.14 to 4.3.16).
struct ThirdPartyZipEnd {
  let entryCount: UInt64
  let central: Range<UInt64>
  /// Where the first closing record starts.
  let offset: UInt64

  /// The last closing record whose comment reaches to the file's very end; nil when there is none, or it
  /// points outside. The comment has at most 65,535 bytes, and so much is searched from the end.
  static func find(
    in file: borrowing FileDescriptor, length: UInt64
  ) throws(SystemError) -> ThirdPartyZipEnd? {
    let count = Int(min(length, UInt64(ZipFormat.endLength + Int(UInt16.max))))
    let start = length - UInt64(count)
    var bytes: [UInt8] = []
    try file.read(upTo: count, at: ByteCount(start), into: &bytes)
    guard bytes.count == count, count >= ZipFormat.endLength else { return nil }
    // Hardly any place has even that.
    let first = UInt8(truncatingIfNeeded: ZipFormat.endSignature)
    for position in stride(from: count - ZipFormat.endLength, through: 0, by: -1)
    where bytes[position] == first && bytes.littleEndian(at: position) == ZipFormat.endSignature
      && position + ZipFormat.endLength + Int(bytes.littleEndian(at: position + 20, as: UInt16.self)) == count
    {
      let record = Array(bytes[position..<position + ZipFormat.endLength])
      return try read(record, at: start + UInt64(position), in: file)
    }
    return nil
  }

  private static func read(
    _ record: [UInt8], at offset: UInt64, in file: borrowing FileDescriptor
  ) throws(SystemError) -> ThirdPartyZipEnd? {
    let count: UInt16 = record.littleEndian(at: 10)
    let length: UInt32 = record.littleEndian(at: 12)
    let central: UInt32 = record.littleEndian(at: 16)
    if let wide = try read64(before: offset, in: file) { return wide }
    return end(
      entryCount: UInt64(count), centralOffset: UInt64(central), centralLength: UInt64(length), offset: offset
    )
  }

  /// Nil where there is no such record, and then the 32-bit one counts.
  private static func read64(
    before offset: UInt64, in file: borrowing FileDescriptor
  ) throws(SystemError) -> ThirdPartyZipEnd? {
    guard offset >= UInt64(ZipFormat.locator64Length + ZipFormat.end64Length) else { return nil }
    var locator: [UInt8] = []
    try file.read(
      upTo: ZipFormat.locator64Length, at: ByteCount(offset - UInt64(ZipFormat.locator64Length)),
      into: &locator)
    guard locator.count == ZipFormat.locator64Length,
      locator.littleEndian(at: 0) == ZipFormat.locator64Signature
    else { return nil }
    let start = offset - UInt64(ZipFormat.locator64Length + ZipFormat.end64Length)
    guard locator.littleEndian(at: 8) == start else { return nil }
    var record: [UInt8] = []
    try file.read(upTo: ZipFormat.end64Length, at: ByteCount(start), into: &record)
    guard record.count == ZipFormat.end64Length, record.littleEndian(at: 0) == ZipFormat.end64Signature else {
      return nil
    }
    return end(
      entryCount: record.littleEndian(at: 32), centralOffset: record.littleEndian(at: 48),
      centralLength: record.littleEndian(at: 40), offset: start)
  }

  /// Nil where the directory would reach past the closing records.
  private static func end(
    entryCount count: UInt64, centralOffset central: UInt64, centralLength length: UInt64, offset: UInt64
  ) -> ThirdPartyZipEnd? {
    let (centralEnd, overflow) = central.addingReportingOverflow(length)
    guard !overflow, centralEnd <= offset else { return nil }
    return ThirdPartyZipEnd(entryCount: count, central: central..<centralEnd, offset: offset)
  }
}

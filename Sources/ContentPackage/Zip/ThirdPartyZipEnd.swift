import CoreTypes
package import SystemCalls

/// The closing records of an archive of any tool's. A 64-bit record counts where its locator stands right
/// before the 32-bit one (APPNOTE 4.3.14 to 4.3.16).
package struct ThirdPartyZipEnd {
  package let entryCount: UInt64
  package let central: Range<UInt64>
  /// Where the first closing record starts.
  package let offset: UInt64

  /// Bytes at the end of an archive within which its closing records lie: a comment has at most 65,535 bytes.
  package static let tailLength =
    ZipFormat.end64Length + ZipFormat.locator64Length + ZipFormat.endLength + Int(UInt16.max)

  /// The last closing record whose comment reaches to the file's very end; nil when there is none, or it
  /// points outside.
  package static func find(
    in file: borrowing FileDescriptor, length: UInt64
  ) throws(SystemError) -> ThirdPartyZipEnd? {
    let count = Int(min(length, UInt64(tailLength)))
    let start = length - UInt64(count)
    var bytes: [UInt8] = []
    try file.read(upTo: count, at: ByteCount(start), into: &bytes)
    guard bytes.count == count else { return nil }
    return find(inTail: bytes, at: start)
  }

  /// The same in the last bytes of a file, ``tailLength`` of them or all, which begin at `start` of it.
  package static func find(inTail bytes: [UInt8], at start: UInt64) -> ThirdPartyZipEnd? {
    let count = bytes.count
    guard count >= ZipFormat.endLength else { return nil }
    // Hardly any place has even that.
    let first = UInt8(truncatingIfNeeded: ZipFormat.endSignature)
    for position in stride(from: count - ZipFormat.endLength, through: 0, by: -1)
    where bytes[position] == first && bytes.littleEndian(at: position) == ZipFormat.endSignature
      && position + ZipFormat.endLength + Int(bytes.littleEndian(at: position + 20, as: UInt16.self)) == count
    {
      return read(bytes, at: position, start)
    }
    return nil
  }

  private static func read(_ bytes: [UInt8], at position: Int, _ start: UInt64) -> ThirdPartyZipEnd? {
    let count: UInt16 = bytes.littleEndian(at: position + 10)
    let length: UInt32 = bytes.littleEndian(at: position + 12)
    let central: UInt32 = bytes.littleEndian(at: position + 16)
    if let wide = read64(bytes, before: position, start) { return wide }
    return end(
      entryCount: UInt64(count), centralOffset: UInt64(central), centralLength: UInt64(length),
      offset: start + UInt64(position))
  }

  /// Nil where there is no such record, and then the 32-bit one counts.
  private static func read64(_ bytes: [UInt8], before position: Int, _ start: UInt64) -> ThirdPartyZipEnd? {
    let locator = position - ZipFormat.locator64Length
    let record = locator - ZipFormat.end64Length
    guard record >= 0, bytes.littleEndian(at: locator) == ZipFormat.locator64Signature else { return nil }
    let offset = start + UInt64(record)
    guard bytes.littleEndian(at: locator + 8) == offset,
      bytes.littleEndian(at: record) == ZipFormat.end64Signature
    else { return nil }
    return end(
      entryCount: bytes.littleEndian(at: record + 32), centralOffset: bytes.littleEndian(at: record + 48),
      centralLength: bytes.littleEndian(at: record + 40), offset: offset)
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

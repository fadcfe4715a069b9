/// An entry of a central directory as it was found, before anything about it is believed. Its form is APPNOTE
/// 4.3.12.
package struct ZipCentralDirectoryHeader: Sendable {
  /// All of its bytes.
  package let bytes: [UInt8]
  package let flags: UInt16
  package let methodNumber: UInt16
  package let checksum: UInt32
  package let storedLength: UInt64
  package let length: UInt64
  package let headerOffset: UInt64
  /// The bytes as they are, in any encoding.
  package let name: [UInt8]
  /// The file mode, when the archive was made on Unix.
  package let mode: UInt32?

  /// How many bytes the record has whose first 46 are `start`; nil when these are no such record.
  package static func length(from start: [UInt8]) -> Int? {
    guard start.count >= ZipFormat.centralLength, start.littleEndian(at: 0) == ZipFormat.centralSignature
    else {
      return nil
    }
    return ZipFormat.centralLength + Int(start.littleEndian(at: 28, as: UInt16.self))
      + Int(start.littleEndian(at: 30, as: UInt16.self)) + Int(start.littleEndian(at: 32, as: UInt16.self))
  }

  /// `bytes` is one whole record. Nil when a member is said to be in a 64-bit field that is not there, or is
  /// beyond what a file can have.
  package init?(_ bytes: [UInt8]) {
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
  package var entry: ZipEntry? {
    guard let method = StorageMethod(zipNumber: methodNumber) else { return nil }
    return ZipEntry(
      name: name, method: method, checksum: checksum, storedLength: storedLength, length: length,
      headerOffset: headerOffset)
  }

  /// The 64-bit values of the ZIP64 extra field, in their order; none without one. APPNOTE 4.5.3 has their
  /// order: length, stored length, offset, of those that are elsewhere.
  package static func values64(in extra: [UInt8]) -> [UInt64] {
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

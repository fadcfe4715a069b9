/// The record that closes an archive: it tells where the central directory lies and how many entries it has.
/// Its form is APPNOTE 4.3.16; the 64-bit ones before it are 4.3.14 and 4.3.15.
package struct ZipEndOfCentralDirectory: Hashable, Sendable {
  package var entryCount: UInt64
  package var centralOffset: UInt64
  package var centralLength: UInt64

  /// The records of an archive with these members.
  package init(entryCount: UInt64, centralOffset: UInt64, centralLength: UInt64) {
    self.entryCount = entryCount
    self.centralOffset = centralOffset
    self.centralLength = centralLength
  }

  private var needs64: Bool {
    entryCount >= ZipFormat.elsewhere16 || centralOffset >= ZipFormat.elsewhere32
      || centralLength >= ZipFormat.elsewhere32
  }

  /// The closing records, as they stand right behind the central directory.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    if needs64 { append64(to: &bytes) }
    bytes.append(littleEndian: ZipFormat.endSignature)
    bytes += [0, 0, 0, 0]
    let count = UInt16(exactly: entryCount) ?? ZipFormat.elsewhere16
    bytes.append(littleEndian: count)
    bytes.append(littleEndian: count)
    bytes.append(littleEndian: UInt32(exactly: centralLength) ?? ZipFormat.elsewhere32)
    bytes.append(littleEndian: UInt32(exactly: centralOffset) ?? ZipFormat.elsewhere32)
    bytes += [0, 0]
    return bytes
  }

  /// The record and its locator, which names where the record starts.
  private func append64(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: ZipFormat.end64Signature)
    // The record's length without these first 12 bytes.
    bytes.append(littleEndian: UInt64(ZipFormat.end64Length - 12))
    bytes.append(littleEndian: ZipFormat.madeOnUnix | ZipFormat.version64)
    bytes.append(littleEndian: ZipFormat.version64)
    bytes += [0, 0, 0, 0, 0, 0, 0, 0]
    bytes.append(littleEndian: entryCount)
    bytes.append(littleEndian: entryCount)
    bytes.append(littleEndian: centralLength)
    bytes.append(littleEndian: centralOffset)
    bytes.append(littleEndian: ZipFormat.locator64Signature)
    bytes += [0, 0, 0, 0]
    bytes.append(littleEndian: centralOffset + centralLength)
    bytes.append(littleEndian: UInt32(1))
  }
}

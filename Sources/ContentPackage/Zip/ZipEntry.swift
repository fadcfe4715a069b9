/// One entry of an archive in the form that packages have: everything that is free in the format is fixed, so that a
/// header follows from these members alone, byte by byte.
package struct ZipEntry: Hashable, Sendable {
  /// UTF-8.
  package var name: [UInt8]
  package var method: StorageMethod
  /// CRC-32 of the file.
  package var checksum: UInt32
  package var storedLength: UInt64
  package var length: UInt64
  /// Where the local header starts.
  package var headerOffset: UInt64

  /// An entry of all members.
  package init(
    name: [UInt8], method: StorageMethod, checksum: UInt32, storedLength: UInt64, length: UInt64,
    headerOffset: UInt64
  ) {
    self.name = name
    self.method = method
    self.checksum = checksum
    self.storedLength = storedLength
    self.length = length
    self.headerOffset = headerOffset
  }

  private var needs64: Bool {
    [storedLength, length, headerOffset].contains { $0 >= ZipFormat.elsewhere32 }
  }

  private var lengthsNeed64: Bool {
    [storedLength, length].contains { $0 >= ZipFormat.elsewhere32 }
  }

  /// Bytes of the local header; the data follows at once. Twenty more where a length needs 64 bits.
  package var localHeaderLength: UInt64 {
    UInt64(ZipFormat.localLength + name.count + (lengthsNeed64 ? 20 : 0))
  }

  package var dataOffset: UInt64 { headerOffset + localHeaderLength }
  package var dataEnd: UInt64 { dataOffset + storedLength }

  /// APPNOTE 4.3.7, without anything that may vary.
  package var localHeader: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: ZipFormat.localSignature)
    bytes.append(littleEndian: lengthsNeed64 ? ZipFormat.version64 : ZipFormat.version)
    appendCommon(to: &bytes, lengthsElsewhere: lengthsNeed64)
    bytes.append(littleEndian: UInt16(name.count))
    bytes.append(littleEndian: UInt16(lengthsNeed64 ? 20 : 0))
    bytes += name
    // A local header gives both lengths or none in its 64-bit field.
    if lengthsNeed64 { bytes += Self.extra64([length, storedLength]) }
    return bytes
  }

  /// APPNOTE 4.3.12, without comment and without other extra fields than the 64-bit one.
  package var centralHeader: [UInt8] {
    // The central directory gives exactly the members that do not fit.
    let elsewhere = [length, storedLength, headerOffset].filter { $0 >= ZipFormat.elsewhere32 }
    let version = needs64 ? ZipFormat.version64 : ZipFormat.version
    var bytes: [UInt8] = []
    bytes.append(littleEndian: ZipFormat.centralSignature)
    bytes.append(littleEndian: ZipFormat.madeOnUnix | version)
    bytes.append(littleEndian: version)
    appendCommon(to: &bytes, lengthsElsewhere: false)
    bytes.append(littleEndian: UInt16(name.count))
    bytes.append(littleEndian: UInt16(elsewhere.isEmpty ? 0 : 4 + 8 * elsewhere.count))
    // No comment, first disk, no internal attributes.
    bytes += [0, 0, 0, 0, 0, 0]
    bytes.append(littleEndian: ZipFormat.fileAttributes)
    bytes.append(littleEndian: Self.clamped(headerOffset))
    bytes += name
    if !elsewhere.isEmpty { bytes += Self.extra64(elsewhere) }
    return bytes
  }

  /// The members that both headers have, from the flags to the length.
  private func appendCommon(to bytes: inout [UInt8], lengthsElsewhere: Bool) {
    bytes.append(littleEndian: ZipFormat.flagUTF8)
    bytes.append(littleEndian: method.zipNumber)
    bytes.append(littleEndian: ZipFormat.time)
    bytes.append(littleEndian: ZipFormat.date)
    bytes.append(littleEndian: checksum)
    bytes.append(littleEndian: lengthsElsewhere ? ZipFormat.elsewhere32 : Self.clamped(storedLength))
    bytes.append(littleEndian: lengthsElsewhere ? ZipFormat.elsewhere32 : Self.clamped(length))
  }

  private static func clamped(_ value: UInt64) -> UInt32 {
    UInt32(exactly: value) ?? ZipFormat.elsewhere32
  }

  /// The 64-bit extra field (APPNOTE 4.5.3).
  private static func extra64(_ values: [UInt64]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: ZipFormat.extra64)
    bytes.append(littleEndian: UInt16(8 * values.count))
    for value in values { bytes.append(littleEndian: value) }
    return bytes
  }
}

import ContentPackage
import CoreTypes
import SystemCalls

extension ThirdPartyZipEntry {
  /// Returns the features in the entry's central record that no package carries.
  func formFaults(_ limits: PackageLimits) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if isEncrypted {
      faults.append(PackageValidationIssue(.archiveEncrypted, path: name, "the entry is encrypted"))
    }
    if method == nil {
      faults.append(
        PackageValidationIssue(
          .archiveFeatureUnsupported, path: name,
          "compression method \(record.methodNumber) is not one that every reader knows"))
    }
    switch record.mode.map({ $0 & 0o170000 }) {
    case 0o120000:
      faults.append(PackageValidationIssue(.symbolicLink, path: name, "the entry is a symbolic link"))
    case nil, 0, 0o100000, 0o040000: break
    default:
      faults.append(PackageValidationIssue(.notARegularFile, path: name, "the entry is a device or the like"))
    }
    if isFolder, record.length > 0 {
      faults.append(
        PackageValidationIssue(.archiveHiddenData, path: name, "a folder has \(record.length) bytes"))
    }
    if method == .stored, !isEncrypted, record.length != record.storedLength {
      faults.append(
        PackageValidationIssue(.lengthsDoNotAddUp, path: name, "a stored file takes as many bytes as it has"))
    }
    if method == .deflated,
      !limits.allowsRatio(
        length: ByteCount(record.length), storedLength: ByteCount(record.storedLength))
    {
      faults.append(
        PackageValidationIssue(
          .unpackRatioTooHigh, path: name,
          "\(record.length) bytes from \(record.storedLength) is more than \(limits.maximumRatio) to 1"))
    }
    return faults
  }
}

/// The local header of an entry, compared with the central directory's record of it. APPNOTE 4.3.7 has its
/// form.
struct ThirdPartyZipLocalHeader {
  /// Where they do not say the same.
  private(set) var differences: [String] = []
  let data: Range<UInt64>
  /// Behind the data, and behind what follows it where the lengths do.
  let end: UInt64

  /// Nil when there is no such header, or the entry reaches past `centralOffset`.
  init?(
    of entry: ThirdPartyZipEntry, in file: borrowing FileDescriptor, centralOffset: UInt64
  ) throws(SystemError) {
    let record = entry.record
    var bytes: [UInt8] = []
    guard record.headerOffset < centralOffset else { return nil }
    try file.read(upTo: ZipFormat.localLength, at: ByteCount(record.headerOffset), into: &bytes)
    guard bytes.count == ZipFormat.localLength, bytes.littleEndian(at: 0) == ZipFormat.localSignature else {
      return nil
    }
    let nameLength = Int(bytes.littleEndian(at: 26, as: UInt16.self))
    let extraLength = Int(bytes.littleEndian(at: 28, as: UInt16.self))
    var names: [UInt8] = []
    try file.read(
      upTo: nameLength + extraLength, at: ByteCount(record.headerOffset + UInt64(ZipFormat.localLength)),
      into: &names)
    let start = record.headerOffset + UInt64(ZipFormat.localLength + nameLength + extraLength)
    let (dataEnd, overflow) = start.addingReportingOverflow(record.storedLength)
    guard names.count == nameLength + extraLength, !overflow, dataEnd <= centralOffset else { return nil }
    data = start..<dataEnd
    let lengthsFollow = record.flags & ZipFormat.flagDataDescriptor != 0
    if lengthsFollow {
      guard
        let length = try Self.descriptorLength(
          at: dataEnd, of: record, in: file, centralOffset: centralOffset)
      else {
        end = dataEnd
        differences.append("the lengths behind the data")
        return
      }
      end = dataEnd + length
    } else {
      end = dataEnd
    }
    compare(
      bytes, name: names[..<nameLength], extra: Array(names[nameLength...]), with: record,
      lengthsFollow: lengthsFollow)
  }

  /// Where lengths follow the data, a header that has zeros in their place says nothing and agrees.
  private mutating func compare(
    _ bytes: [UInt8], name: ArraySlice<UInt8>, extra: [UInt8], with record: ZipCentralDirectoryHeader,
    lengthsFollow: Bool
  ) {
    let flags: UInt16 = bytes.littleEndian(at: 6)
    let relevant = ZipFormat.flagEncrypted | ZipFormat.flagDataDescriptor | ZipFormat.flagUTF8
    if flags & relevant != record.flags & relevant { differences.append("flags") }
    if bytes.littleEndian(at: 8) != record.methodNumber { differences.append("method") }
    if !name.elementsEqual(record.name) { differences.append("name") }
    let checksum: UInt32 = bytes.littleEndian(at: 14)
    let wide = ZipCentralDirectoryHeader.values64(in: extra)
    func value(at offset: Int, wide index: Int) -> UInt64 {
      let short: UInt32 = bytes.littleEndian(at: offset)
      return short == ZipFormat.elsewhere32 && wide.indices.contains(index) ? wide[index] : UInt64(short)
    }
    let (storedLength, length) = (value(at: 18, wide: 1), value(at: 22, wide: 0))
    // Where lengths and checksum follow the data, the header has none of them.
    if lengthsFollow, checksum == 0, storedLength == 0, length == 0 { return }
    if checksum != record.checksum { differences.append("checksum") }
    if storedLength != record.storedLength { differences.append("stored length") }
    if length != record.length { differences.append("length") }
  }

  /// The length of the checksum and the lengths that follow the data: with or without a signature, in 32 or 64 bits. Nil when they do not
  /// say what the central directory says. APPNOTE 4.3.9 leaves both open, and tools use all four.
  private static func descriptorLength(
    at offset: UInt64, of record: ZipCentralDirectoryHeader, in file: borrowing FileDescriptor,
    centralOffset: UInt64
  ) throws(SystemError) -> UInt64? {
    var found: [UInt8] = []
    try file.read(upTo: Int(min(24, centralOffset - offset)), at: ByteCount(offset), into: &found)
    for signature in [ZipFormat.descriptorSignature, nil] {
      for isWide in [false, true] {
        var expected: [UInt8] = []
        if let signature { expected.append(littleEndian: signature) }
        expected.append(littleEndian: record.checksum)
        for length in [record.storedLength, record.length] {
          if isWide {
            expected.append(littleEndian: length)
          } else {
            expected.append(littleEndian: UInt32(truncatingIfNeeded: length))
          }
        }
        if found.starts(with: expected) { return UInt64(expected.count) }
      }
    }
    return nil
  }
}

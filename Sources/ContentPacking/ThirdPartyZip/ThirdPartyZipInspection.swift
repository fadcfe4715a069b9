import ContentPackage
import CoreTypes
import SystemCalls

/// A single file that is a ZIP archive of any tool's (`.cbz`, `.epub`), checked against itself before readers open it:
/// where names lead, kinds, what the headers say of one another, and that no byte belongs to nothing. Unlike packages of ours it may have
/// dates, extra fields, comments, entries for folders, and lengths behind the data.
struct ThirdPartyZipInspection {
  private(set) var faults: [PackageValidationIssue] = []
  /// In the order of their local headers.
  private(set) var entries: [ThirdPartyZipEntry] = []
  let limits: PackageLimits

  /// Nil when the file neither starts nor ends like a ZIP archive: it is another kind of file, whatever its
  /// name says. Stops at the first fault that leaves nothing to read: no closing record, a directory that
  /// ends elsewhere, too many entries. Reads no entry's data.
  init?(_ file: borrowing FileDescriptor, length: ByteCount, limits: PackageLimits) throws(SystemError) {
    self.limits = limits
    let end = try ThirdPartyZipEnd.find(in: file, length: UInt64(length.rawValue))
    guard let end else {
      var start: [UInt8] = []
      try file.read(upTo: 4, at: .zero, into: &start)
      guard start.count == 4, start.littleEndian(at: 0) == ZipFormat.localSignature else { return nil }
      faults.append(
        PackageValidationIssue(
          .archiveMalformed, "it starts as an archive and does not end with a closing record"))
      return
    }
    guard end.central.upperBound == end.offset else {
      faults.append(
        PackageValidationIssue(
          .archiveHiddenData, "the central directory does not reach from its offset to the closing record"))
      return
    }
    guard end.entryCount <= UInt64(limits.maximumFiles) else {
      faults.append(
        PackageValidationIssue(
          .tooManyFiles, "\(end.entryCount) entries, at most \(limits.maximumFiles) are allowed"))
      return
    }
    try readCentralDirectory(end, in: file, length: length)
    try checkPlaces(in: file, centralOffset: end.central.lowerBound)
  }

  /// Adds the bounds of the whole: unpacked length and ratio.
  private mutating func readCentralDirectory(
    _ end: ThirdPartyZipEnd, in file: borrowing FileDescriptor, length: ByteCount
  ) throws(SystemError) {
    var reader = ZipCentralDirectoryReader(range: end.central)
    var names: Set<[UInt8]> = []
    var unpacked: UInt64 = 0
    faults += try reader.forEachRecord(of: end.entryCount, in: file) { record in
      let entry = ThirdPartyZipEntry(record)
      faults += entry.formFaults(limits)
      faults += Self.nameFaults(entry, &names)
      entries.append(entry)
      let (sum, overflow) = unpacked.addingReportingOverflow(record.length)
      // Any five lengths that a record may tell can be more than 64 bits hold.
      unpacked = overflow ? .max : sum
    }
    if unpacked > UInt64(limits.maximumUnpackedLength.rawValue) {
      faults.append(
        PackageValidationIssue(
          .unpackedTooLarge,
          "the entries have more than the \(limits.maximumUnpackedLength.rawValue) bytes that are allowed"))
    } else if !limits.allowsTotalRatio(unpackedLength: ByteCount(Int64(unpacked)), length: length) {
      faults.append(limits.totalRatioIssue(unpackedLength: unpacked, length: length))
    }
  }

  /// Nothing is placed under these names: only those that lead elsewhere, or are there twice, are refused.
  private static func nameFaults(_ entry: ThirdPartyZipEntry, _ names: inout Set<[UInt8]>)
    -> [PackageValidationIssue]
  {
    if let fault = entry.named.fault {
      return [PackageValidationIssue(fault.code, path: entry.name, fault.reason)]
    }
    guard !entry.isFolder, !names.insert(entry.record.name).inserted else { return [] }
    return [PackageValidationIssue(.pathDuplicate, path: entry.name, "the path occurs twice")]
  }

  /// Sorts the entries by their local headers and walks through them: no two overlap, and between them is
  /// nothing but padding.
  private mutating func checkPlaces(
    in file: borrowing FileDescriptor, centralOffset: UInt64
  ) throws(SystemError) {
    entries.sort { $0.record.headerOffset < $1.record.headerOffset }
    var position: UInt64 = 0
    var padding = PaddingCheck(end: centralOffset)
    for index in entries.indices {
      let name = entries[index].name
      let local = try ThirdPartyZipLocalHeader(of: entries[index], in: file, centralOffset: centralOffset)
      guard let local else {
        faults.append(
          PackageValidationIssue(
            .archiveHeadersDisagree, path: name,
            "where the central directory says it starts there is no local header that fits"))
        continue
      }
      faults +=
        local.differences.isEmpty
        ? []
        : [
          PackageValidationIssue(
            .archiveHeadersDisagree, path: name,
            "local header and central directory differ in \(local.differences.joined(separator: ", "))")
        ]
      let start = entries[index].record.headerOffset
      if start < position {
        faults.append(
          PackageValidationIssue(.archiveEntriesOverlap, path: name, "the entry overlaps the one before it"))
      } else if start > position,
        let fault = try padding.fault(in: position..<start, before: name, of: file)
      {
        faults.append(fault)
      }
      position = max(position, local.end)
      entries[index].data = local.data
    }
    if position < centralOffset {
      faults.append(
        PackageValidationIssue(
          .archiveHiddenData,
          "\(centralOffset - position) bytes before the central directory belong to nothing"))
    }
  }
}

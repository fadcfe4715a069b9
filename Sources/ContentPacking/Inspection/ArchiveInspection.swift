import ContentPackage
import CoreTypes
import SystemCalls

/// An archive as it is, checked against itself: every byte of it must belong to a local header, to an entry's data, to the
/// central directory or to the closing records, and say the same as the others. It is for packages of ours,
/// in the one form that docs/formats/package.md fixes; ``ThirdPartyZipInspection`` takes what other tools
/// make.
struct ArchiveInspection {
  /// The faults so far, in the order in which they were found.
  private(set) var faults: [PackageValidationIssue] = []
  /// In the order of their local headers.
  private(set) var entries: [ZipEntry] = []
  /// The archive's checksums of the files whose names are safe paths.
  private(set) var checksums: [PackagePath: UInt32] = [:]

  /// Stops at the first fault that leaves nothing to compare: no closing record, a directory that ends
  /// elsewhere, too many entries. Everything else is collected. Blocks, and reads no file's data.
  init(_ file: borrowing FileDescriptor, length: ByteCount, limits: PackageLimits) throws(SystemError) {
    guard let found = try ZipEndOfCentralDirectory.find(in: file, length: length) else {
      faults.append(
        PackageValidationIssue(.archiveMalformed, "the package does not end with an archive's closing record")
      )
      return
    }
    let end = found.end
    guard end.centralOffset <= found.offset, end.centralLength == found.offset - end.centralOffset else {
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
    try checkClosingRecords(found, in: file, length: length)
    try readCentralDirectory(end, in: file)
    try checkLocalHeaders(in: file, centralOffset: end.centralOffset)
  }

  /// The records must be byte by byte those that ``ZipEndOfCentralDirectory/bytes`` makes of their own
  /// numbers.
  private mutating func checkClosingRecords(
    _ found: ZipEndOfCentralDirectory.Found, in file: borrowing FileDescriptor, length: ByteCount
  ) throws(SystemError) {
    var bytes: [UInt8] = []
    let count = length.rawValue - Int64(found.offset)
    try file.read(upTo: Int(count), at: ByteCount(found.offset), into: &bytes)
    if bytes != found.end.bytes {
      faults.append(
        PackageValidationIssue(
          .archiveHeadersDisagree, "the closing records are not in the form of a package"))
    }
  }

  /// The directory's records in their order, with the conflicts between their paths.
  private mutating func readCentralDirectory(
    _ end: ZipEndOfCentralDirectory, in file: borrowing FileDescriptor
  ) throws(SystemError) {
    var reader = ZipCentralDirectoryReader(range: end.centralOffset..<end.centralOffset + end.centralLength)
    var register = PathConflictDetector()
    faults += try reader.forEachRecord(of: end.entryCount, in: file) { add($0, &register) }
  }

  /// A record that can be no entry of a package leaves its faults and no entry.
  private mutating func add(_ record: ZipCentralDirectoryHeader, _ register: inout PathConflictDetector) {
    let name = String(decoding: record.name, as: UTF8.self)
    let formFaults = record.formFaults(name: name)
    faults += formFaults
    guard let entry = record.entry else { return }
    entries.append(entry)
    guard String(validating: record.name, as: UTF8.self) != nil else {
      faults.append(PackageValidationIssue(.pathUnsafe, path: name, PackagePathFault.notUnicode.reason))
      return
    }
    do throws(PackagePathFault) {
      let path = try PackagePath(name)
      if let fault = register.register(path) { faults.append(fault) }
      checksums[path] = entry.checksum
    } catch {
      // A folder's entry ends with a slash; its form fault says so already.
      if formFaults.isEmpty || error != .emptySegment {
        faults.append(PackageValidationIssue(error.code, path: name, error.reason))
      }
    }
  }

  /// Walks through the entries by their offsets: no two overlap, what lies between them is padding that a
  /// layout may have, and each local header is the one that follows from the directory's record.
  private mutating func checkLocalHeaders(
    in file: borrowing FileDescriptor, centralOffset: UInt64
  ) throws(SystemError) {
    if zip(entries, entries.dropFirst()).contains(where: { $0.headerOffset >= $1.headerOffset }) {
      faults.append(
        PackageValidationIssue(
          .archiveHeadersDisagree, "the central directory is not in the order of the entries"))
      entries.sort { $0.headerOffset < $1.headerOffset }
    }
    var position: UInt64 = 0
    var padding = PaddingCheck(end: centralOffset)
    for entry in entries {
      let name = String(decoding: entry.name, as: UTF8.self)
      let (dataEnd, overflow) = entry.dataOffset.addingReportingOverflow(entry.storedLength)
      guard !overflow, entry.headerOffset < centralOffset, dataEnd <= centralOffset else {
        faults.append(
          PackageValidationIssue(
            .archiveEntriesOverlap, path: name, "the entry reaches into the central directory or past it"))
        continue
      }
      if entry.headerOffset < position {
        faults.append(
          PackageValidationIssue(.archiveEntriesOverlap, path: name, "the entry overlaps the one before it"))
      } else if entry.headerOffset > position {
        if let fault = try padding.fault(in: position..<entry.headerOffset, before: name, of: file) {
          faults.append(fault)
        }
      }
      position = max(position, dataEnd)
      var header: [UInt8] = []
      try file.read(upTo: Int(entry.localHeaderLength), at: ByteCount(entry.headerOffset), into: &header)
      if header != entry.localHeader {
        faults.append(
          PackageValidationIssue(
            .archiveHeadersDisagree, path: name,
            "the local header is not the one that goes with the central directory"))
      }
    }
    if position < centralOffset {
      faults.append(
        PackageValidationIssue(
          .archiveHiddenData,
          "\(centralOffset - position) bytes before the central directory belong to nothing"
        ))
    }
  }
}

/// The comparison with a manifest.
extension ArchiveInspection {
  /// Where the archive's entries are not the manifest's files. Entries are compared by their names' bytes.
  /// Those that the manifest does not list come last, sorted by name.
  func faults(against manifest: Manifest) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    var unlisted: [String: ZipEntry] = [:]
    for entry in entries { unlisted[String(decoding: entry.name, as: UTF8.self)] = entry }
    for file in manifest.files {
      guard let entry = unlisted.removeValue(forKey: file.path.text),
        entry.name.elementsEqual(file.path.text.utf8)
      else {
        faults.append(
          PackageValidationIssue(.archiveEntryMissing, path: file.path.text, "the archive has no such entry"))
        continue
      }
      let differences = Self.differences(entry, file)
      if !differences.isEmpty {
        faults.append(
          PackageValidationIssue(
            .archiveDisagreesWithManifest, path: file.path.text,
            "archive and manifest differ in \(differences.joined(separator: ", "))"))
      }
    }
    for name in unlisted.keys.sorted() {
      faults.append(
        PackageValidationIssue(.archiveEntryUnlisted, path: name, "the manifest does not list this entry"))
    }
    return faults
  }

  /// Words for the members that differ, for one fault of the file.
  private static func differences(_ entry: ZipEntry, _ file: ManifestFile) -> [String] {
    var differences: [String] = []
    if entry.method != file.method { differences.append("method") }
    if entry.length != UInt64(file.length.rawValue) { differences.append("length") }
    if entry.storedLength != UInt64(file.storedLength.rawValue) { differences.append("stored length") }
    let (dataOffset, overflow) = entry.headerOffset.addingReportingOverflow(entry.localHeaderLength)
    if overflow || dataOffset != UInt64(file.offset.rawValue) { differences.append("offset") }
    return differences
  }
}

/// The form that packages have.
extension ZipCentralDirectoryHeader {
  /// Returns the departures of this record from the form of packages: each by itself where it matters, else
  /// one for all the fixed parts.
  ///
  /// - Parameter name: the name for the message; that of the record may be no text.
  func formFaults(name: String) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if flags & ZipFormat.flagEncrypted != 0 {
      faults.append(PackageValidationIssue(.archiveEncrypted, path: name, "the entry is encrypted"))
    }
    if flags & ZipFormat.flagDataDescriptor != 0 {
      faults.append(
        PackageValidationIssue(
          .archiveFeatureUnsupported, path: name, "the entry's lengths follow its data instead of its header")
      )
    }
    if StorageMethod(zipNumber: methodNumber) == nil {
      faults.append(
        PackageValidationIssue(
          .archiveFeatureUnsupported, path: name, "compression method \(methodNumber) is not used in packages"
        ))
    }
    if self.name.last == 0x2F {
      faults.append(
        PackageValidationIssue(.archiveFeatureUnsupported, path: name, "folders have no entries of their own")
      )
    }
    switch mode.map({ $0 & 0o170000 }) {
    case 0o120000:
      faults.append(PackageValidationIssue(.symbolicLink, path: name, "the entry is a symbolic link"))
    case nil, 0, 0o100000, 0o040000: break
    default:
      faults.append(PackageValidationIssue(.notARegularFile, path: name, "the entry is a device or the like"))
    }
    if faults.isEmpty, let entry, entry.centralHeader != bytes {
      faults.append(
        PackageValidationIssue(
          .archiveHeadersDisagree, path: name,
          "the central directory's record is not in the form of a package (flags, versions, times, attributes, extra fields)"
        ))
    }
    return faults
  }
}

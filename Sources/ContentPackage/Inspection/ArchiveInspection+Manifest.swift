import CoreTypes

extension ArchiveInspection {
  /// Where the archive's entries are not the manifest's files.
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

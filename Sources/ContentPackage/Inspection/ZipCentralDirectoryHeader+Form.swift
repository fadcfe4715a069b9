extension ZipCentralDirectoryHeader {
  /// What in this record is not as packages have it: named where it matters, else once for all that is fixed.
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

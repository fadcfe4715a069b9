import CoreTypes

extension ThirdPartyZipEntry {
  /// What its central record says that no package carries.
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

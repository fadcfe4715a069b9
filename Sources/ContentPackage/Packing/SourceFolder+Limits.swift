import CoreTypes

extension SourceFolder {
  /// What of the limits can be said before anything is packed.
  func limitFaults(_ limits: PackageLimits) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if files.isEmpty, self.faults.isEmpty {
      faults.append(PackageValidationIssue(.packageEmpty, "the folder has no file to pack"))
    }
    if files.count > limits.maximumFiles {
      faults.append(
        PackageValidationIssue(
          .tooManyFiles, "\(files.count) files, at most \(limits.maximumFiles) are allowed"))
    }
    let total = files.reduce(ByteCount.zero) { $0 + $1.length }
    if total > limits.maximumUnpackedLength {
      faults.append(
        PackageValidationIssue(
          .unpackedTooLarge,
          "the files have \(total.rawValue) bytes, at most \(limits.maximumUnpackedLength.rawValue) are allowed"
        ))
    }
    let stored = files.filter { !$0.path.isWorthDeflating }.reduce(ByteCount.zero) { $0 + $1.length }
    if stored > limits.maximumLength {
      faults.append(Self.tooLarge(atLeast: stored, limits))
    }
    return faults
  }

  static func tooLarge(atLeast length: ByteCount, _ limits: PackageLimits) -> PackageValidationIssue {
    PackageValidationIssue(
      .packageTooLarge,
      "the package would have at least \(length.rawValue) bytes, at most \(limits.maximumLength.rawValue) are allowed"
    )
  }
}

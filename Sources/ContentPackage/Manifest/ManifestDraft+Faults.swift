import CoreTypes

extension ManifestDraft {
  /// Characters of a title, at most.
  package static let maximumTitleLength = 1024

  /// Every rule of docs/formats/manifest.md that these members break.
  func faults(canonicalLength: ByteCount, limits: PackageLimits) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if canonicalLength > limits.maximumManifestLength {
      faults.append(
        PackageValidationIssue(
          .manifestTooLarge,
          "the manifest has \(canonicalLength.rawValue) bytes, at most \(limits.maximumManifestLength.rawValue) are allowed"
        ))
    }
    faults += lengthFaults(limits: limits)
    faults += fileFaults(limits: limits)
    faults += pathFaults()
    faults += placementFaults()
    faults += kindFaults()
    faults += pageFaults()
    return faults
  }

  /// The lengths of package, pieces and files against the limits and against each other. Sums do not overflow: a list
  /// that would is faulty.
  private func lengthFaults(limits: PackageLimits) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if length <= .zero {
      faults.append(PackageValidationIssue(.packageEmpty, "the package has no bytes"))
    } else if length > limits.maximumLength {
      faults.append(
        PackageValidationIssue(
          .packageTooLarge,
          "the package has \(length.rawValue) bytes, at most \(limits.maximumLength.rawValue) are allowed"))
    } else {
      let expected = PieceLayout(packageLength: length).count
      if pieces.count != expected {
        faults.append(
          PackageValidationIssue(
            .pieceCountWrong, "\(pieces.count) pieces are listed, a package of this length has \(expected)"))
      }
    }
    if unpackedLength > limits.maximumUnpackedLength {
      faults.append(
        PackageValidationIssue(
          .unpackedTooLarge,
          "the files have \(unpackedLength.rawValue) bytes, at most \(limits.maximumUnpackedLength.rawValue) are allowed"
        ))
    }
    if length > .zero, !limits.allowsTotalRatio(unpackedLength: unpackedLength, length: length) {
      faults.append(limits.totalRatioIssue(unpackedLength: unpackedLength.rawValue, length: length))
    }
    var sum: Int64 = 0
    for file in files {
      let (next, overflow) = sum.addingReportingOverflow(max(file.length.rawValue, 0))
      sum = overflow ? .max : next
    }
    if sum != unpackedLength.rawValue {
      faults.append(
        PackageValidationIssue(
          .lengthsDoNotAddUp, "the files have \(sum) bytes, unpackedLength says \(unpackedLength.rawValue)"))
    }
    return faults
  }

  /// The number of files, and each file's lengths and ratio.
  private func fileFaults(limits: PackageLimits) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if files.isEmpty { faults.append(PackageValidationIssue(.packageEmpty, "the package has no file")) }
    if files.count > limits.maximumFiles {
      faults.append(
        PackageValidationIssue(
          .tooManyFiles, "\(files.count) files, at most \(limits.maximumFiles) are allowed"))
    }
    for file in files {
      let path = file.path.text
      guard file.length >= .zero, file.storedLength >= .zero, file.offset >= .zero else {
        faults.append(
          PackageValidationIssue(.lengthsDoNotAddUp, path: path, "a length or the offset is negative"))
        continue
      }
      switch file.method {
      case .stored where file.storedLength != file.length:
        faults.append(
          PackageValidationIssue(
            .lengthsDoNotAddUp, path: path, "a stored file takes as many bytes as it has"))
      case .deflated where !limits.allowsRatio(length: file.length, storedLength: file.storedLength):
        faults.append(
          PackageValidationIssue(
            .unpackRatioTooHigh, path: path,
            "\(file.length.rawValue) bytes from \(file.storedLength.rawValue) is more than \(limits.maximumRatio) to 1"
          ))
      case .stored, .deflated: break
      }
    }
    return faults
  }

  /// The order of the paths, and paths that cannot stand beside each other.
  private func pathFaults() -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    var register = PathConflictDetector()
    for (index, file) in files.enumerated() {
      if index > 0, file.path < files[index - 1].path {
        faults.append(
          PackageValidationIssue(.filesNotSorted, path: file.path.text, "the files are not sorted by path"))
      }
      if let fault = register.register(file.path) { faults.append(fault) }
    }
    return faults
  }

  /// The places of the files: within the package, and none over another.
  private func placementFaults() -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    // By number: a copy of so many files takes more than all else here.
    let placed = files.indices.filter { files[$0].storedLength > .zero && files[$0].offset >= .zero }
      .sorted { files[$0].offset < files[$1].offset }
    for (index, number) in placed.enumerated() {
      let file = files[number]
      let (end, overflow) = file.offset.rawValue.addingReportingOverflow(file.storedLength.rawValue)
      if overflow || end > length.rawValue {
        faults.append(
          PackageValidationIssue(
            .fileOutsidePackage, path: file.path.text, "its bytes reach past the package's end"))
      } else if index + 1 < placed.count, files[placed[index + 1]].offset.rawValue < end {
        faults.append(
          PackageValidationIssue(
            .filesOverlap, path: files[placed[index + 1]].path.text, "its bytes overlap those of \(file.path)"
          ))
      }
    }
    for file in files where file.storedLength == .zero && file.offset > length {
      faults.append(
        PackageValidationIssue(
          .fileOutsidePackage, path: file.path.text, "its offset is past the package's end"))
    }
    return faults
  }

  /// The rules of the kind: a package of one file is that file.
  private func kindFaults() -> [PackageValidationIssue] {
    switch kind {
    case .folder:
      guard name == nil else {
        return [PackageValidationIssue(.manifestMemberInvalid, "name: only a package of kind file has one")]
      }
      return []
    case .file:
      guard let name, files.count == 1, let file = files.first, file.path.text == name,
        file.path.segments.count == 1
      else {
        return [
          PackageValidationIssue(
            .manifestMemberInvalid, "name: a package of kind file has one file, called by this name")
        ]
      }
      guard file.method == .stored, file.offset == .zero, file.length == length, file.digest == digest else {
        return [
          PackageValidationIssue(
            .lengthsDoNotAddUp, path: name, "the one file of a package of kind file is the whole package")
        ]
      }
      return []
    }
  }

  /// The title, the number of pages, and pages that are no files.
  private func pageFaults() -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if let title, title.isEmpty || title.count > Self.maximumTitleLength {
      faults.append(
        PackageValidationIssue(.manifestMemberInvalid, "title: 1 to \(Self.maximumTitleLength) characters"))
    }
    if let pageCount, !(1...1_000_000).contains(pageCount) {
      faults.append(PackageValidationIssue(.manifestMemberInvalid, "pageCount: 1 to 1000000"))
    }
    let paths = cover == nil && readingOrder == nil ? [] : Set(files.map(\.path))
    if let cover, !paths.contains(cover) {
      faults.append(
        PackageValidationIssue(.pageUnknown, path: cover.text, "the cover is no file of the package"))
    }
    var seen: Set<PackagePath> = []
    for page in readingOrder ?? [] {
      if !paths.contains(page) {
        faults.append(
          PackageValidationIssue(.pageUnknown, path: page.text, "the page is no file of the package"))
      } else if !seen.insert(page).inserted {
        faults.append(
          PackageValidationIssue(.pageUnknown, path: page.text, "the page occurs twice in readingOrder"))
      }
    }
    return faults
  }
}

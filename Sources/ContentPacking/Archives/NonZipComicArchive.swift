import ContentPackage
import CoreTypes
import SystemCalls

/// A comic archive that is no ZIP (7z, tar), whatever it is called: its title and its pages. What cannot be read is left
/// unsaid: the archive is delivered as it is.
struct NonZipComicArchive {
  /// A document may lie in the folder that wraps everything; more of each kind than that are not looked at.
  private static let maximumDocuments = 8

  /// Names that lead nowhere inside, and names that are there twice.
  private(set) var faults: [PackageValidationIssue] = []
  /// The files, without those whose names are faults.
  private(set) var survey = PublicationSurvey()
  /// The title and the pages; none where nothing could be read.
  private(set) var metadata = PublicationMetadata.none

  /// Reads names, and the first bytes of what is called like a page; blocks. It stops where the entries together are longer
  /// than those of a package of `length` bytes may be: skipping an entry takes unpacking it. At most
  /// ``PackageLimits/maximumFiles`` entries are looked at. A document is unpacked up to
  /// ``PackageLimits/maximumMetadataLength``.
  init(_ file: borrowing FileDescriptor, length: ByteCount, limits: PackageLimits) throws(SystemError) {
    guard var archive = try ArchiveReader(file) else { return }
    var documents: [String: [UInt8]] = [:]
    var found: [ComicDocument: Int] = [:]
    var count = 0
    var unpacked: UInt64 = 0
    var encodings: Set<ArchiveName.Encoding> = []
    var names: Set<[UInt8]> = []
    reading: while count < limits.maximumFiles {
      count += 1
      let bytes: [UInt8]
      let size: UInt64
      switch archive.next() {
      case .entry(let name, let said): (bytes, size) = (name, said)
      case .other: continue
      case .end, .broken: break reading
      }
      let (sum, overflow) = unpacked.addingReportingOverflow(size)
      unpacked = overflow ? UInt64(Int64.max) : min(sum, UInt64(Int64.max))
      guard limits.allowsTotalRatio(unpackedLength: ByteCount(Int64(unpacked)), length: length) else {
        survey.note(PublicationOddity("it unpacks to more than a package may: the rest was not looked at"))
        break
      }
      let name = ArchiveName(bytes)
      if let fault = name.fault {
        faults.append(PackageValidationIssue(fault.code, path: name.text, fault.reason))
        continue
      }
      // Which of the two a reader shows is the reader's choice.
      guard names.insert(bytes).inserted else {
        faults.append(PackageValidationIssue(.pathDuplicate, path: name.text, "the path occurs twice"))
        continue
      }
      encodings.insert(name.encoding)
      if let document = ComicDocument.allCases.first(where: { $0.isName(of: name.path) }),
        found[document, default: 0] < Self.maximumDocuments
      {
        found[document, default: 0] += 1
        documents[name.path] = archive.bytes(upTo: Int(limits.maximumMetadataLength.rawValue))
      }
      let start = FileName.mayBePage(name.path) ? archive.start(PictureFormat.startLength) : nil
      survey.add(
        .init(path: name.path, length: size, picture: start.flatMap { PictureFormat(startOf: $0) }))
    }
    for encoding in encodings where encoding != .utf8 { survey.note(.names(in: encoding)) }
    metadata = PublicationMetadata(comicBook: survey) { documents[$0] }
  }
}

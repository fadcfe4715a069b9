public import Commerce
public import ContentPackage
public import CoreTypes
public import Crypto
public import SystemCalls

/// A single file on its own: what it is by its bytes, what may not be published, and what it says of itself.
/// Faults refuse the file, and the report only tells of it.
struct SingleFileInspection {
  let faults: [PackageValidationIssue]
  let metadata: PublicationMetadata
  let report: PublicationReport
  let mediaType: MediaType

  /// Reads all of an archive, and little of anything else; blocks. A file whose bytes and name disagree is
  /// what its bytes are, with an oddity.
  init(
    _ file: borrowing FileDescriptor, name: String, length: ByteCount, limits: PackageLimits
  ) throws {
    var start: [UInt8] = []
    try file.read(upTo: PictureFormat.startLength, at: .zero, into: &start)
    var faults: [PackageValidationIssue] = []
    if let kind = ExecutableSignature.find(in: start, hasExecuteBit: false) {
      faults.append(PackageValidationIssue(.executable, path: name, "\(kind) is not published"))
    }
    let isNamedAsArchive = PublicationFormat.isNamedAsArchive(name)
    var format: PublicationFormat
    var survey = PublicationSurvey()
    var metadata = PublicationMetadata.none
    if let archive = try Self.zip(file, start, isNamedAsArchive, length: length, limits: limits) {
      let zip = try ZipPublication(archive, in: file, isNamedAsPublication: isNamedAsArchive)
      (format, survey, metadata) = (zip.format, zip.survey, zip.metadata)
      // What is delivered as it is by the operator's word is no archive that readers open.
      if format.isPublication || isNamedAsArchive { faults += zip.faults }
    } else {
      let kind = FileSignature.kind(of: start)
      switch kind {
      case .format(let found): format = found
      case .sevenZip, .tar:
        let archive = try NonZipComicArchive(file, length: length, limits: limits)
        (survey, metadata) = (archive.survey, archive.metadata)
        if metadata.readingOrder == nil {
          format = .other(
            kind == .tar ? "a tar archive without a page" : "a 7z archive without a page that can be read")
        } else {
          format = kind == .tar ? .comicBookTar : .comicBookSevenZip
          faults += archive.faults
        }
      }
    }
    if format == .pdf { Self.notePDF(start, &survey) }
    if format.isPublication, let oddity = Self.nameOddity(name, format) { survey.note(oddity) }
    self.faults = faults
    self.metadata = metadata
    mediaType = format.mediaType(named: name)
    var report = PublicationReport()
    report.format = format
    report.leftOut = survey.leftOut
    report.oddities = survey.oddities
    report.cover = metadata.cover
    self.report = report
  }

  /// Nil for what neither starts like a ZIP archive nor is called like one and ends so.
  private static func zip(
    _ file: borrowing FileDescriptor, _ start: [UInt8], _ isNamedAsArchive: Bool, length: ByteCount,
    limits: PackageLimits
  ) throws(SystemError) -> ThirdPartyZipInspection? {
    let isZip = start.starts(with: [0x50, 0x4B, 3, 4]) || start.starts(with: [0x50, 0x4B, 5, 6])
    guard isZip || isNamedAsArchive else { return nil }
    return try ThirdPartyZipInspection(file, length: length, limits: limits)
  }

  /// Nil where the name's ending is that of the format.
  private static func nameOddity(_ name: String, _ format: PublicationFormat) -> PublicationOddity? {
    guard let expected = PublicationFormat.expected(of: name) else {
      return PublicationOddity("it is \(format.clause), and its name does not end like one's")
    }
    return expected == format
      ? nil : PublicationOddity("it is \(format.clause), and called like \(expected.clause)")
  }

  /// Nothing but the header is looked at.
  private static func notePDF(_ start: [UInt8], _ survey: inout PublicationSurvey) {
    guard let header = FileSignature.pdfHeader(in: start) else { return }
    if header > 0 {
      survey.note(PublicationOddity("the header of the PDF stands behind \(header) bytes of something else"))
    }
    let version = start[(header + 5)...].prefix(3).map { $0 }
    let isVersion =
      version.count == 3 && version[1] == 0x2E
      && [version[0], version[2]].allSatisfy { (0x30...0x39).contains($0) }
    if !isVersion { survey.note(PublicationOddity("the header of the PDF names no version")) }
  }
}

extension Manifest {
  /// The manifest of a single file, whose digests the caller knows already (a server that hashed it while it came in).
  /// Every entry of an archive (`.cbz`, `.epub`) is read. Throws ``PackageValidationError`` for a name that cannot be placed, an
  /// executable, an archive that may not be published, or a length past the limits; `SystemError` when it cannot be read.
  public static func describing(
    singleFile file: borrowing FileDescriptor, name: String, product: ProductIdentifier,
    version: ContentVersion, length: ByteCount, digest: SHA256Digest, pieces: [SHA256Digest],
    limits: PackageLimits = .standard
  ) throws -> Manifest {
    try inspecting(
      singleFile: file, name: name, product: product, version: version, length: length, digest: digest,
      pieces: pieces, limits: limits
    ).manifest
  }

  /// The same manifest, with what its publisher should hear.
  static func inspecting(
    singleFile file: borrowing FileDescriptor, name: String, product: ProductIdentifier,
    version: ContentVersion, length: ByteCount, digest: SHA256Digest, pieces: [SHA256Digest],
    limits: PackageLimits
  ) throws -> (manifest: Manifest, report: PublicationReport) {
    let found = try SingleFileInspection(file, name: name, length: length, limits: limits)
    var faults = found.faults
    var path: PackagePath?
    do throws(PackagePathFault) {
      path = try PackagePath(name)
    } catch {
      faults.append(PackageValidationIssue(error.code, path: name, error.reason))
    }
    guard faults.isEmpty, let path else { throw PackageValidationError(faults) }
    let metadata = found.metadata
    let entry = ManifestFile(
      path: path, offset: .zero, storedLength: length, length: length, method: .stored, digest: digest)
    let manifest = try Manifest(
      ManifestDraft(
        product: product, version: version, kind: .file, name: name, mediaType: found.mediaType,
        length: length,
        digest: digest, pieces: pieces, unpackedLength: length, title: metadata.title,
        pageCount: metadata.pageCount, cover: nil, readingOrder: nil, files: [entry]), limits: limits)
    return (manifest, found.report)
  }
}

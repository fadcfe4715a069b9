public import Commerce
public import ContentPackage
public import CoreTypes
import Crypto
import Files
import SystemCalls

/// Makes packages. The same files give the same bytes whatever their order on disk, their times, owner and modes.
///
/// Both ways block, hash on a second thread, and hold at most 24 MiB of buffers. They throw a ``PackageValidationError`` with
/// every fault of the source, or a `SystemError`.
public struct PackageBuilder: Sendable {
  /// The product that packages are made for.
  public let product: ProductIdentifier
  /// The content version that packages are made for.
  public let version: ContentVersion
  /// The bounds that packages are held to.
  public let limits: PackageLimits

  /// Called on the builder's thread with the bytes of the source done so far and all there are.
  public typealias Progress = (_ done: ByteCount, _ total: ByteCount) -> Void

  /// Creates a builder; it keeps nothing from one package to the next.
  public init(product: ProductIdentifier, version: ContentVersion, limits: PackageLimits = .standard) {
    self.product = product
    self.version = version
    self.limits = limits
  }

  /// Packs the folder at `path` into one archive at `output`, which appears whole and durable or not at all. Files that
  /// `previous` has too keep their places and bytes as far as can be; the folder is read twice then, which `progress` counts.
  /// Files of one of the `sections` lie behind those of none, each section's together, where they have no place from before.
  public func pack(
    folder path: String, to output: String, sections: SectionRules = .none,
    following previous: Manifest? = nil, progress: Progress? = nil
  ) throws -> PackedPackage {
    let source = try SourceFolder(scanning: path)
    let faults = source.faults + source.limitFaults(limits)
    guard faults.isEmpty else { throw PackageValidationError(faults) }
    let tags = try sections.assignment(of: source.files.map(\.path))
    var packer = try FolderPacker(
      source: source, sections: tags, output: output, limits: limits, readings: previous == nil ? 1 : 2,
      progress: progress)
    if let previous {
      try packer.packAll(following: previous)
    } else {
      try packer.packAll()
    }
    let (metadata, report) = try Self.metadata(of: source, limits: limits)
    let paths = Dictionary(
      source.files.map { ($0.path.text, $0.path) }, uniquingKeysWith: { first, _ in first })
    let manifest = try packer.publish { packed in
      var draft = ManifestDraft(
        product: product, version: version, kind: .folder, name: nil, mediaType: .archive,
        length: packed.length, digest: packed.digest, pieces: packed.pieces,
        unpackedLength: packed.files.reduce(.zero) { $0 + $1.length }, title: metadata.title,
        pageCount: metadata.pageCount, cover: metadata.cover.flatMap { paths[$0] },
        readingOrder: metadata.readingOrder?.compactMap { paths[$0] }, files: packed.files)
      draft.setSections(sections.rules.map(\.section), of: tags)
      return try Manifest(draft, limits: limits)
    }
    return PackedPackage(manifest: manifest, skipped: source.skipped, report: report)
  }

  /// Describes the single file at `path` (`.cbz`, `.epub`, `.pdf`): it is the package as it is, read once and left
  /// alone.
  public func describe(file path: String, progress: Progress? = nil) throws -> PackedPackage {
    let file = try FileDescriptor.open(path, .readOnly)
    let status = try file.status()
    guard status.kind == .regular else {
      throw PackageValidationError(.notARegularFile, path: path, "a package is a regular file")
    }
    guard status.length <= limits.maximumLength else {
      throw PackageValidationError([SourceFolder.tooLarge(atLeast: status.length, limits)])
    }
    let digests = try Self.digests(of: file, length: status.length, progress: progress)
    let name = FileSystem.lastPart(of: path)
    let (manifest, report) = try Manifest.inspecting(
      singleFile: file, name: name, product: product, version: version, length: status.length,
      digest: digests.digest, pieces: digests.pieces, limits: limits)
    try SourceStamp(status).check(file, path: name)
    return PackedPackage(manifest: manifest, skipped: [], report: report)
  }

  /// Reads what the files say of themselves: a comic book's document first, else an EPUB's. Documents that
  /// are longer than the limit are not read.
  private static func metadata(
    of source: SourceFolder, limits: PackageLimits
  ) throws -> (PublicationMetadata, PublicationReport) {
    var survey = PublicationSurvey()
    for file in source.files {
      survey.add(.init(path: file.path.text, length: UInt64(file.length.rawValue), picture: file.picture))
    }
    let files = Dictionary(source.files.map { ($0.path.text, $0) }, uniquingKeysWith: { first, _ in first })
    func content(of path: String) throws -> [UInt8]? {
      guard let file = files[path], file.length <= limits.maximumMetadataLength else { return nil }
      var bytes: [UInt8] = []
      let descriptor = try Directory(opening: source.path).openFile(at: file.path)
      try descriptor.read(upTo: Int(file.length.rawValue), at: .zero, into: &bytes)
      return bytes
    }
    var metadata = try PublicationMetadata(comicBook: survey, content)
    if !metadata.hasComicInfo, let publication = try PublicationMetadata(epub: survey, content) {
      metadata = publication
    }
    var report = PublicationReport()
    report.leftOut = survey.leftOut
    report.oddities = survey.oddities
    report.cover = metadata.cover
    return (metadata, report)
  }
}

extension PackageBuilder {
  /// Reads the whole file once. Throws ``PackageValidationError`` when it has another length by the time it is read.
  static func digests(
    of file: borrowing FileDescriptor, length: ByteCount, progress: Progress?
  ) throws -> (digest: SHA256Digest, pieces: [SHA256Digest]) {
    let hasher = PieceHasher()
    let layout = PieceLayout(packageLength: length)
    for index in 0..<layout.count {
      let range = layout.range(of: index)
      var piece = hasher.makeBuffer()
      try file.read(upTo: range.count, at: ByteCount(range.lowerBound), into: &piece)
      guard piece.count == range.count else {
        throw PackageValidationError(.changedWhilePacking, "the file became shorter while it was read")
      }
      hasher.add(piece)
      progress?(ByteCount(range.upperBound), length)
    }
    return hasher.finish()
  }
}

/// The result of packing.
public struct PackedPackage: Sendable {
  /// The manifest of the package that was written.
  public let manifest: Manifest
  /// The files of the folder that are left out of the package on purpose.
  public let skipped: [SkippedSource]
  /// Notes to the publisher about the files.
  public let report: PublicationReport

  /// Describes a package that was written.
  public init(
    manifest: Manifest, skipped: [SkippedSource], report: PublicationReport = PublicationReport()
  ) {
    self.manifest = manifest
    self.skipped = skipped
    self.report = report
  }
}

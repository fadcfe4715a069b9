public import Commerce
public import ContentPackage
public import CoreTypes
public import Crypto
public import SystemCalls

/// A single file on its own: what may not be published, and what it says of itself.
struct SingleFileInspection {
  let faults: [PackageValidationIssue]
  let metadata: PublicationMetadata

  /// Reads all of an archive, and little of anything else; blocks.
  init(
    _ file: borrowing FileDescriptor, name: String, length: ByteCount, limits: PackageLimits
  ) throws {
    var faults: [PackageValidationIssue] = []
    if let kind = try ExecutableSignature.find(in: file, hasExecuteBit: false) {
      faults.append(PackageValidationIssue(.executable, path: name, "\(kind) is not published"))
    }
    switch MediaType.guess(forFileNamed: name) {
    case .comicBook, .epub:
      if let archive = try ThirdPartyZipInspection(file, length: length, limits: limits) {
        faults += archive.faults
        faults += try archive.contentFaults(in: file)
        metadata = try Self.metadata(of: archive, in: file, limits: limits)
      } else {
        metadata = try NonZipComicArchive.metadata(of: file, limits: limits)
      }
    default: metadata = .none
    }
    self.faults = faults
  }

  private static func metadata(
    of archive: ThirdPartyZipInspection, in file: borrowing FileDescriptor, limits: PackageLimits
  ) throws -> PublicationMetadata {
    func content(of name: String) throws -> [UInt8]? {
      try archive.bytes(of: name, upTo: limits.maximumMetadataLength, in: file)
    }
    // Names that are no safe paths are faults already.
    let paths = archive.entries.filter { !$0.isFolder }.compactMap { try? PackagePath($0.name) }
    if let publication = try EPUBMetadata.read(content) {
      return PublicationMetadata(paths: paths, publication: publication)
    }
    return PublicationMetadata(
      paths: paths, comicInfo: try content(of: ComicInfo.fileName).flatMap(ComicInfoReader.read))
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
    let found = try SingleFileInspection(file, name: name, length: length, limits: limits)
    var faults = found.faults
    var path: PackagePath?
    do throws(PackagePathFault) {
      path = try PackagePath(name)
    } catch {
      faults.append(PackageValidationIssue(error.code, path: name, error.reason))
    }
    guard faults.isEmpty, let path else { throw PackageValidationError(faults) }
    let (mediaType, metadata) = (MediaType.guess(forFileNamed: name), found.metadata)
    let entry = ManifestFile(
      path: path, offset: .zero, storedLength: length, length: length, method: .stored, digest: digest)
    return try Manifest(
      ManifestDraft(
        product: product, version: version, kind: .file, name: name, mediaType: mediaType, length: length,
        digest: digest, pieces: pieces, unpackedLength: length, title: metadata.title,
        pageCount: metadata.pageCount, cover: nil, readingOrder: nil, files: [entry]), limits: limits)
  }
}

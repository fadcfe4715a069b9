public import Commerce
public import Digests
public import Measures
public import SystemCalls

extension Manifest {
  /// The manifest of a finished file, whose digests the caller knows already (a server that hashed it while it came in).
  /// The file is opened only for its title and pages. Throws ``PackageRefusal`` for a name that cannot be placed, an
  /// executable, or a length past the limits; `SystemError` when it cannot be read.
  public static func describing(
    finishedFile file: borrowing FileDescriptor, name: String, product: ProductIdentifier,
    version: ContentVersion, length: ByteCount, digest: SHA256Digest, pieces: [SHA256Digest],
    limits: PackageLimits = .standard
  ) throws -> Manifest {
    var faults: [PackageFault] = []
    if let kind = try ExecutableSignature.find(in: file, hasExecuteBit: false) {
      faults.append(PackageFault(.executable, path: name, "\(kind) is not published"))
    }
    var path: PackagePath?
    do throws(PackagePathFault) {
      path = try PackagePath(name)
    } catch {
      faults.append(PackageFault(.pathUnsafe, path: name, error.reason))
    }
    guard faults.isEmpty, let path else { throw PackageRefusal(faults) }
    let mediaType = MediaType.guess(forFileNamed: name)
    let metadata =
      mediaType == .comicBook
      ? try ForeignArchive.metadata(of: file, limits: limits) : PublicationMetadata.none
    let entry = ManifestFile(
      path: path, offset: .zero, storedLength: length, length: length, method: .stored, digest: digest)
    return try Manifest(
      ManifestDraft(
        product: product, version: version, kind: .file, name: name, mediaType: mediaType, length: length,
        digest: digest, pieces: pieces, unpackedLength: length, title: metadata.title,
        pageCount: metadata.pageCount, cover: nil, readingOrder: nil, files: [entry]), limits: limits)
  }
}

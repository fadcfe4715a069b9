public import Commerce
public import Crypto
public import CoreTypes
public import SystemCalls

extension Manifest {
  /// The manifest of a single file, whose digests the caller knows already (a server that hashed it while it came in).
  /// Of an archive (`.cbz`, `.epub`) every entry is read. Throws ``PackageValidationError`` for a name that cannot be placed, an
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
      faults.append(PackageValidationIssue(.pathUnsafe, path: name, error.reason))
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

import CoreTypes
import SystemCalls

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

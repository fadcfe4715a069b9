import ContentPackage
import CoreTypes
import SystemCalls

/// Looks into a comic archive that is no ZIP, whatever it is called, for its title and its pages. What it cannot read it
/// leaves unsaid: the archive is delivered as it is, whatever is in it.
enum NonZipComicArchive {
  /// Blocks.
  static func metadata(
    of file: borrowing FileDescriptor, limits: PackageLimits
  ) throws(SystemError) -> PublicationMetadata {
    guard var archive = try ArchiveReader(file) else { return .none }
    var paths: [PackagePath] = []
    var comicInfo: ComicInfo?
    var count = 0
    while count < limits.maximumFiles, case .entry(let name) = archive.next() {
      count += 1
      // Names that are no safe paths are no pages; nothing is unpacked from here.
      guard let name, let path = try? PackagePath(name) else { continue }
      paths.append(path)
      if path.text == ComicInfo.fileName, comicInfo == nil {
        comicInfo = archive.bytes(upTo: Int(limits.maximumMetadataLength.rawValue))
          .flatMap { ComicInfoReader.read($0) }
      }
    }
    return PublicationMetadata(paths: paths, comicInfo: comicInfo)
  }
}

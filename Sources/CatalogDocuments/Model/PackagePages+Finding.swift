package import ContentPackage
package import CoreTypes

/// The finding of pages in a package, of which only the bytes that tell them are read.
extension PackagePages {
  /// Nil for a package that has no pages which are sent one by one. Throws `PackageValidationError` for an archive whose headers are not where
  /// its directory says, and what the source throws.
  package static func find(
    in manifest: Manifest, reading source: PackedFileReader.Source
  ) async throws -> PackagePages? {
    guard manifest.kind == .file else { return PackagePages(manifest) }
    guard manifest.mediaType == .comicBook, let count = manifest.pageCount else { return nil }
    let tail = try await source(ArchivePages.tail(of: manifest.length))
    guard let directory = ArchivePages.directory(inTail: tail, of: manifest.length),
      var entries = ArchivePages.entries(inDirectory: try await source(directory))
    else { return nil }
    // Some are called like a picture and are none, which was seen when the archive was published.
    if entries.count != count {
      entries = try await pictures(among: entries, in: manifest.length, reading: source)
    }
    guard entries.count == count else { return nil }
    return PackagePages(entries.map { Page(picture: Picture($0)) })
  }

  private static func pictures(
    among entries: [ArchivedFile], in length: ByteCount, reading source: PackedFileReader.Source
  ) async throws -> [ArchivedFile] {
    var found: [ArchivedFile] = []
    for entry in entries {
      let place = try await Picture(entry).file(in: length, reading: source)
      let start = try await PackedFileReader.start(
        of: place, reading: source, count: ArchivePages.startLength)
      if PictureFormat(startOf: start) != nil { found.append(entry) }
    }
    return found
  }
}

extension PackagePages.Picture {
  fileprivate init(_ entry: ArchivedFile) {
    self.init(name: entry.path, length: entry.length, place: .entry(entry))
  }

  /// Where its bytes lie in a package of that length. Throws `PackageValidationError` where its header is not there.
  package func file(
    in length: ByteCount, reading source: PackedFileReader.Source
  ) async throws -> PackedFile {
    switch place {
    case .file(let file): return file
    case .entry(let entry):
      guard let file = entry.file(behind: try await source(entry.header)),
        file.range.upperBound <= length.rawValue
      else {
        throw PackageValidationError(
          .archiveHeadersDisagree, path: entry.path, "there is no local header where it is to be")
      }
      return file
    }
  }
}

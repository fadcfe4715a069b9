package import ContentPackage

/// The facts of a package that the catalog tells: what it is, and how many pages it has.
package struct PackageFacts: Hashable, Sendable {
  /// The type under which an application gets the package.
  package var mediaType: MediaType
  /// The ending of a file of that type, without a point.
  package var fileExtension: String
  /// Whether all that is read of it are pictures.
  package var isComic: Bool
  /// Nil where they cannot be counted.
  package var pageCount: Int?
  /// The pages that are sent one by one; nil where there are none.
  package var stream: PageStream?

  /// The pages of a comic, as they are announced.
  package struct PageStream: Hashable, Sendable {
    package var count: Int
    /// One of the three types that OPDS-PSE knows: that of the first page, where it is one of them.
    package var mediaType: String

    package init(count: Int, mediaType: String) {
      self.count = count
      self.mediaType = mediaType
    }
  }

  package init(
    mediaType: MediaType, fileExtension: String, isComic: Bool, pageCount: Int?, stream: PageStream? = nil
  ) {
    self.mediaType = mediaType
    self.fileExtension = fileExtension
    self.isComic = isComic
    self.pageCount = pageCount
    self.stream = stream
  }

  /// A folder of pictures is packed as a comic book is, and called one; other folders are archives.
  package init(_ manifest: Manifest) {
    let pages = manifest.readingOrder ?? []
    switch manifest.kind {
    case .file:
      mediaType = manifest.mediaType
      fileExtension =
        manifest.name.flatMap(Self.ending) ?? Self.fileExtension(of: manifest.mediaType) ?? "bin"
      isComic = Self.comics.contains(manifest.mediaType)
    case .folder:
      isComic = !pages.isEmpty && pages.allSatisfy { Self.isPicture($0.text) }
      mediaType = isComic ? .comicBook : .archive
      fileExtension = isComic ? "cbz" : "zip"
    }
    pageCount = manifest.pageCount ?? (isComic && !pages.isEmpty ? pages.count : nil)
    if manifest.kind == .file, mediaType == .comicBook {
      stream = manifest.pageCount.map { PageStream(count: $0, mediaType: Self.streamType) }
    } else {
      let order = PackagePages.order(of: manifest)
      let type = order.first.flatMap(Self.pictureType)
      stream =
        order.isEmpty
        ? nil
        : PageStream(
          count: order.count,
          mediaType: type.flatMap { Self.streamTypes.contains($0) ? $0 : nil } ?? Self.streamType)
    }
  }

  private static let streamType = "image/jpeg"
  private static let streamTypes: Set<String> = [streamType, "image/gif", "image/png"]

  private static let comics: Set<MediaType> = [
    .comicBook, .comicBookRAR, .comicBookSevenZip, .comicBookTar,
  ]

  /// The media types of pictures by the endings of their names.
  private static let pictures = [
    "avif": "image/avif", "gif": "image/gif", "jpeg": "image/jpeg", "jpg": "image/jpeg", "png": "image/png",
    "webp": "image/webp",
  ]

  /// The media type of a picture by the ending of its name; nil for a name of something else.
  package static func pictureType(ofFileNamed name: String) -> String? {
    ending(name).flatMap { pictures[$0] }
  }

  /// Whether the ending of a name is that of a picture, also of one that browsers do not show, or would run, as SVG: a page of a comic that
  /// is a download.
  package static func isPicture(_ name: String) -> Bool {
    ending(name).map { pictures[$0] != nil || PictureFormat.promised(by: $0) != nil } ?? false
  }

  /// The media type of a sample by the ending of its name.
  package static func sampleType(ofFileNamed name: String) -> String? {
    switch ending(name) {
    case "pdf": "application/pdf"
    case "txt": "text/plain"
    case let ending?: pictures[ending]
    case nil: nil
    }
  }

  /// The ending of a name in lower case, of letters and digits alone; nil for a name without one.
  private static func ending(_ name: String) -> String? {
    guard let dot = name.lastIndex(of: ".") else { return nil }
    let ending = name[name.index(after: dot)...].lowercased()
    let isPlain = ending.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    return (1...8).contains(ending.utf8.count) && isPlain ? ending : nil
  }

  private static func fileExtension(of type: MediaType) -> String? {
    switch type {
    case .comicBook: "cbz"
    case .comicBookRAR: "cbr"
    case .comicBookSevenZip: "cb7"
    case .comicBookTar: "cbt"
    case .epub: "epub"
    case .pdf: "pdf"
    case .archive: "zip"
    default: nil
    }
  }
}

package import ContentPackage
package import CoreTypes

/// The pages of a comic in the order in which they are read, each where it lies in the package, and with the narrower pictures of it that
/// the package has. Books, PDF documents, and comics in RAR, 7z and tar archives have none.
package struct PackagePages: Sendable {
  /// A page, or a narrower picture of one.
  package struct Picture: Hashable, Sendable {
    /// The place of its bytes, as far as it is known.
    package enum Place: Hashable, Sendable {
      case file(PackedFile)
      /// An entry of an archive that was published as its maker made it: its header has first to be read.
      case entry(ArchivedFile)
    }

    package var name: String
    package var length: ByteCount
    package var place: Place

    package init(name: String, length: ByteCount, place: Place) {
      self.name = name
      self.length = length
      self.place = place
    }

    /// The media type by the ending of its name; nil for a name of something that browsers do not show.
    package var mediaType: String? { PackageFacts.pictureType(ofFileNamed: name) }
  }

  /// One page.
  package struct Page: Hashable, Sendable {
    package var picture: Picture
    /// By the widths that their names tell, in pixels, ascending.
    package var narrower: [Size] = []

    package init(picture: Picture, narrower: [Size] = []) {
      self.picture = picture
      self.narrower = narrower
    }

    /// The narrowest picture that is at least as wide, in pixels; the page itself where there is none, or no width is wished for.
    package func picture(ofWidth width: Int?) -> Picture {
      guard let width else { return picture }
      return narrower.first { $0.width >= width }?.picture ?? picture
    }
  }

  /// A narrower picture.
  package struct Size: Hashable, Sendable {
    package var width: Int
    package var picture: Picture
  }

  /// The media type of the manifest that has the pages, or of another one.
  package static func manifestType(isComic: Bool) -> String {
    isComic ? "application/divina+json" : "application/webpub+json"
  }

  /// Narrower pictures of one page, at most.
  static let maximumSizes = 8
  /// Pixels that a name may say a picture to be wide.
  package static let widths = 1...10_000

  package var pages: [Page]
  /// Nil where the package has no document that tells more.
  package var guide: ComicGuide?

  package init(_ pages: [Page], guide: ComicGuide? = nil) {
    self.pages = pages
    self.guide = guide
  }

  /// Nil for a folder that is no comic, and for a package of one file.
  package init?(_ manifest: Manifest) {
    let order = Self.order(of: manifest)
    guard !order.isEmpty else { return nil }
    let files = Dictionary(
      manifest.files.map { ($0.path.text, $0) }, uniquingKeysWith: { first, _ in first })
    var sizes: [Substring: [Size]] = [:]
    for file in manifest.files {
      guard let (stem, width) = Self.size(ofFileNamed: file.path.text),
        sizes[stem, default: []].count < Self.maximumSizes,
        PackageFacts.pictureType(ofFileNamed: file.path.text) != nil
      else { continue }
      sizes[stem, default: []].append(Size(width: width, picture: Self.picture(file)))
    }
    pages = order.compactMap { path in
      files[path].map { file in
        Page(
          picture: Self.picture(file),
          narrower: sizes[Self.stem(of: path), default: []].sorted { $0.width < $1.width })
      }
    }
  }

  /// The paths of a folder's pages, without narrower pictures that its order lists as pages; empty unless all of them are pictures.
  static func order(of manifest: Manifest) -> [String] {
    guard manifest.kind == .folder, let order = manifest.readingOrder?.map(\.text),
      order.allSatisfy(PackageFacts.isPicture)
    else { return [] }
    let stems = Set(order.map(stem))
    return order.filter { path in size(ofFileNamed: path).map { !stems.contains($0.stem) } ?? true }
  }

  private static func picture(_ file: ManifestFile) -> Picture {
    Picture(name: file.path.text, length: file.length, place: .file(PackedFile(file)))
  }

  private static func stem(of path: String) -> Substring {
    path.lastIndex(of: ".").map { path[..<$0] } ?? path[...]
  }

  /// The stem and the width of a file such as `page-1@240w.jpg`; nil for another name.
  private static func size(ofFileNamed path: String) -> (stem: Substring, width: Int)? {
    let stem = stem(of: path)
    guard stem.last == "w", let sign = stem.lastIndex(of: "@"),
      let width = Int(stem[stem.index(after: sign)...].dropLast()), widths.contains(width)
    else { return nil }
    return (stem[..<sign], width)
  }
}

/// What a manifest says for readers: from `ComicInfo.xml` or an EPUB's package document where there is one, else from the
/// files.
struct PublicationMetadata: Hashable, Sendable {
  static let pageCounts = 1...1_000_000

  var title: String?
  var pageCount: Int?
  var cover: PackagePath?
  var readingOrder: [PackagePath]?

  static let none = PublicationMetadata()

  private init() {}

  init(title: String?, pageCount: Int?) {
    self.title = Self.title(title)
    self.pageCount = pageCount.flatMap { Self.pageCounts.contains($0) ? $0 : nil }
  }

  /// `paths` are all the files; the images among them, in their natural order, are the pages.
  init(paths: [PackagePath], comicInfo: ComicInfo?) {
    let pages = paths.filter(\.isImage).sorted(by: NaturalOrder.precedes)
    self.init(title: comicInfo?.displayTitle, pageCount: pages.isEmpty ? comicInfo?.pageCount : pages.count)
    guard !pages.isEmpty else { return }
    let coverPage = comicInfo?.coverPage ?? 0
    cover = pages.indices.contains(coverPage) ? pages[coverPage] : pages[0]
    readingOrder = pages
  }

  /// `paths` are all the files; what the publication names and is not among them is left out.
  init(paths: [PackagePath], publication: EPUBMetadata) {
    let known = Dictionary(paths.map { ($0.text, $0) }, uniquingKeysWith: { first, _ in first })
    var seen: Set<PackagePath> = []
    let pages = publication.readingOrder.compactMap { known[$0] }.filter { seen.insert($0).inserted }
    self.init(title: publication.title, pageCount: pages.count)
    cover = publication.cover.flatMap { known[$0] }
    readingOrder = pages.isEmpty ? nil : pages
  }

  private static func title(_ text: String?) -> String? {
    text.flatMap { text in
      let bounded = String(text.prefix(ManifestDraft.maximumTitleLength))
      return bounded.isEmpty ? nil : bounded
    }
  }
}

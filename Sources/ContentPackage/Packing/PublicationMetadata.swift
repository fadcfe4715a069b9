/// What a manifest says for readers: from `ComicInfo.xml` where there is one, else from the files.
struct PublicationMetadata: Hashable, Sendable {
  var title: String?
  var pageCount: Int?
  var cover: PackagePath?
  var readingOrder: [PackagePath]?

  static let none = PublicationMetadata()

  private init() {}

  /// `paths` are all the files; the images among them, in their natural order, are the pages.
  init(paths: [PackagePath], comicInfo: ComicInfo?) {
    let pages = paths.filter(\.isImage).sorted(by: NaturalOrder.precedes)
    title = comicInfo?.displayTitle.flatMap { title in
      let bounded = String(title.prefix(ManifestDraft.maximumTitleLength))
      return bounded.isEmpty ? nil : bounded
    }
    pageCount =
      pages.isEmpty ? comicInfo?.pageCount.flatMap { (1...1_000_000).contains($0) ? $0 : nil } : pages.count
    guard !pages.isEmpty else { return }
    let coverPage = comicInfo?.coverPage ?? 0
    cover = pages.indices.contains(coverPage) ? pages[coverPage] : pages[0]
    readingOrder = pages
  }
}

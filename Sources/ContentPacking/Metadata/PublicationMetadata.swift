import ContentPackage
import CoreTypes

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
      let bounded = String(text.removingInvisibleFormatting.prefix(ManifestDraft.maximumTitleLength))
      return bounded.isEmpty ? nil : bounded
    }
  }
}

/// The order in which people number pages: runs of digits count as numbers (`page2` before `page10`), the rest by
/// lower-case text; paths that are the same to that are ordered by their bytes.
enum NaturalOrder {
  static func precedes(_ left: PackagePath, _ right: PackagePath) -> Bool {
    let (first, second) = (parts(of: left.text), parts(of: right.text))
    for (one, other) in zip(first, second) where one != other { return one < other }
    return first.count == second.count ? left < right : first.count < second.count
  }

  private enum Part: Comparable {
    /// By length, then digit by digit: no number is too large.
    case number(digits: Int, text: String)
    case text(String)
  }

  private static func parts(of text: String) -> [Part] {
    var parts: [Part] = []
    var rest = text.lowercased()[...]
    while let character = rest.first {
      let isDigit = character.isASCII && character.isNumber
      let run = rest.prefix { ($0.isASCII && $0.isNumber) == isDigit }
      rest = rest[run.endIndex...]
      if isDigit {
        let significant = String(run.drop { $0 == "0" })
        parts.append(.number(digits: significant.count, text: significant))
      } else {
        parts.append(.text(String(run)))
      }
    }
    return parts
  }
}

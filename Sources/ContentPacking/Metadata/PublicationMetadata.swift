import ContentPackage
import CoreTypes

/// The metadata of a manifest for readers: from a ``ComicDocument`` or an EPUB's package document where there is
/// one, else from the files. Paths are texts: those in an archive that is never unpacked need not be such
/// that they could be placed.
struct PublicationMetadata: Hashable, Sendable {
  /// A count that a document says and that is outside of this is none.
  static let pageCounts = 1...1_000_000

  /// The title, as a manifest may have it.
  var title: String?
  /// The number of pages.
  var pageCount: Int?
  /// The path of the cover.
  var cover: String?
  /// The paths of the pages in the order in which they are read.
  var readingOrder: [String]?
  /// Whether a ``ComicDocument`` was read for it.
  private(set) var hasComicInfo = false

  /// Metadata without anything.
  static let none = PublicationMetadata()

  /// Metadata without anything, to be filled.
  private init() {}

  /// The title is cleaned, and cut to the longest that a manifest may have.
  init(title: String?, pageCount: Int?) {
    self.title = Self.title(title)
    self.pageCount = pageCount.flatMap { Self.pageCounts.contains($0) ? $0 : nil }
  }

  /// `pages` are in their order. The pages that are there count before the number that the document says.
  /// Without any there is neither cover nor reading order.
  init(pages: [String], comicInfo: ComicInfo?) {
    self.init(title: comicInfo?.displayTitle, pageCount: pages.isEmpty ? comicInfo?.pageCount : pages.count)
    hasComicInfo = comicInfo != nil
    guard !pages.isEmpty else { return }
    let coverPage = comicInfo?.coverPage ?? 0
    cover = pages.indices.contains(coverPage) ? pages[coverPage] : pages[0]
    readingOrder = pages
  }

  /// `paths` are all the files; what the publication names and is not among them is left out. A file that the
  /// spine names twice is read once.
  init(paths: [String], publication: EPUBMetadata) {
    let known = Dictionary(paths.map { ($0, $0) }, uniquingKeysWith: { first, _ in first })
    var seen: Set<String> = []
    let pages = publication.readingOrder.compactMap { known[$0] }.filter { seen.insert($0).inserted }
    self.init(title: publication.title, pageCount: pages.count)
    cover = publication.cover.flatMap { known[$0] }
    readingOrder = pages.isEmpty ? nil : pages
  }

  /// Whitespace of any kind, line breaks too, is one space; what is not to be seen is left out. Nil where
  /// nothing is left.
  private static func title(_ text: String?) -> String? {
    guard let text else { return nil }
    let visible = text.collapsingWhiteSpace.removingInvisibleFormatting.unicodeScalars
      .filter { $0.properties.generalCategory != .control }
    let bounded = String(
      String(String.UnicodeScalarView(visible)).collapsingWhiteSpace
        .prefix(ManifestDraft.maximumTitleLength))
    return bounded.isEmpty ? nil : bounded
  }
}

/// The choice of the document that counts.
extension PublicationMetadata {
  /// The metadata of a comic book. `content` gives the bytes of the file at a path, nil when it cannot be
  /// read. The first document that can be read counts; one that cannot is passed over.
  init(comicBook survey: PublicationSurvey, _ content: (String) throws -> [UInt8]?) rethrows {
    var info: ComicInfo?
    for document in ComicDocument.allCases where info == nil {
      guard let path = Self.path(of: document, in: survey), let bytes = try content(path) else { continue }
      info = document.read(bytes)
    }
    self.init(pages: survey.pagesInOrder(), comicInfo: info)
  }

  /// The metadata of an EPUB, at the root or in the folder that wraps everything; nil where there is none that can be read.
  init?(epub survey: PublicationSurvey, _ content: (String) throws -> [UInt8]?) rethrows {
    let folder = Self.epubFolder(in: survey)
    guard let publication = try EPUBMetadata.read({ try content(folder + $0) }) else { return nil }
    self.init(paths: survey.files, publication: publication.moved(into: folder))
  }

  /// Where the EPUB's container lies, with a slash at the end. Empty at the root. Whether there is an EPUB is
  /// another question.
  static func epubFolder(in survey: PublicationSurvey) -> String {
    survey.files.contains(EPUBMetadata.containerPath) ? "" : survey.wrappingFolder
  }

  /// At the root, else in the folder that wraps everything.
  private static func path(of document: ComicDocument, in survey: PublicationSurvey) -> String? {
    let candidates = survey.files.filter { document.isName(of: $0) }
    let folder = survey.wrappingFolder
    let length = document.nameLength
    return candidates.first { $0.utf8.count == length }
      ?? candidates.first { $0.utf8.count == folder.utf8.count + length && $0.hasPrefix(folder) }
  }
}

/// The cleaning of text from documents.
extension String {
  /// Runs of white space as one space each, and none at the ends. A space that breaks no line stays.
  var collapsingWhiteSpace: String {
    let words = unicodeScalars.split { $0.properties.isWhitespace && !Self.nonBreaking.contains($0) }
    let text = words.map { String($0) }.joined(separator: " ")
    guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last,
      first.properties.isWhitespace || last.properties.isWhitespace
    else { return text }
    var rest = Substring(text).unicodeScalars
    while rest.first?.properties.isWhitespace == true { rest.removeFirst() }
    while rest.last?.properties.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }

  /// Spaces at which no line is broken; they are kept as they are.
  private static let nonBreaking: Set<Unicode.Scalar> = ["\u{A0}", "\u{2007}", "\u{202F}"]
}

import CoreTypes

/// The words of a comic book's document (`ComicInfo.xml`) for readers, beside its title: which way it is read, and which pages have names.
///
/// ```swift
/// if let path = ComicGuide.path(among: paths), let guide = ComicGuide(try content(of: path)) {
///   guide.bookmarks  // [(page: 0, title: "Cover")]
/// }
/// ```
package struct ComicGuide: Hashable, Sendable {
  /// A page with a name.
  package struct Bookmark: Hashable, Sendable {
    /// Counted from zero, in the order of the pages.
    package var page: Int
    /// The name, without invisible characters and with single spaces.
    package var title: String
  }

  /// Bookmarks that are read, at most.
  static let maximumBookmarks = 1000

  /// Whether pages are turned from right to left; nil where the document does not say.
  package var isRightToLeft: Bool?
  /// In the order of the pages, one for a page.
  package var bookmarks: [Bookmark] = []

  /// Nil for bytes that are no such document. At most a mebibyte is to be given.
  package init?(_ bytes: [UInt8]) {
    var isComicInfo = false
    var direction: Bool?
    var titles: [Int: String] = [:]
    let isWellFormed = XMLReader.read(bytes) { path, event in
      switch event {
      case .start(let attributes):
        if path == ["ComicInfo"] { isComicInfo = true }
        guard path == ["ComicInfo", "Pages", "Page"], titles.count < Self.maximumBookmarks,
          let page = attributes["Image"].flatMap({ Int($0.collapsingWhiteSpace) }), page >= 0,
          let title = attributes["Bookmark"]?.removingInvisibleFormatting.collapsingWhiteSpace, !title.isEmpty
        else { return }
        titles[page] = titles[page] ?? title
      case .end(let text):
        guard path == ["ComicInfo", "Manga"] else { return }
        switch text.collapsingWhiteSpace {
        case "YesAndRightToLeft": direction = true
        case "No", "Yes": direction = false
        default: break
        }
      }
    }
    guard isWellFormed, isComicInfo else { return nil }
    isRightToLeft = direction
    bookmarks = titles.sorted { $0.key < $1.key }.map { Bookmark(page: $0.key, title: $0.value) }
  }

  /// The document among the files of a package: at the root, else in a folder that all lie in. Nil where there is none.
  package static func path(among paths: [String]) -> String? {
    let candidates = paths.filter { ComicDocument.comicInfo.isName(of: $0) }
    if let atRoot = candidates.first(where: { !$0.utf8.contains(0x2F) }) { return atRoot }
    return candidates.first { path in
      let folder = path.prefix { $0 != "/" } + "/"
      return path.dropFirst(folder.count).utf8.contains(0x2F) == false
        && paths.allSatisfy { $0.hasPrefix(folder) }
    }
  }
}

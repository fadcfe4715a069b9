package import ContentPackage
import CoreTypes

/// Reads the guide out of a `ComicInfo.xml`.
///
/// ```swift
/// if let path = ComicGuide.path(among: paths), let guide = ComicGuide(try content(of: path)) {
///   guide.bookmarks  // [(page: 0, title: "Cover")]
/// }
/// ```
extension ComicGuide {
  /// Bookmarks that are read, at most.
  static let maximumBookmarks = 1000

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
    self.init(
      isRightToLeft: direction,
      bookmarks: titles.sorted { $0.key < $1.key }.map { Bookmark(page: $0.key, title: $0.value) })
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

import CatalogDocuments
import ContentPackage
import ServiceRuntime

extension PackagePages {
  /// Names in a table of contents, at most.
  static let maximumBookmarks = 1_000

  /// The same with a table of contents by the names of the folders that the pages lie in: where there are several of them, the first page of
  /// each has the folder's name. Pages that have a guide keep it.
  func namedByFolders() -> PackagePages {
    guard guide == nil else { return self }
    var seen: Set<Substring> = []
    var bookmarks: [ComicGuide.Bookmark] = []
    for (number, page) in pages.enumerated() {
      let name = page.picture.name
      let folder = name.lastIndex(of: "/").map { name[..<$0] } ?? ""
      guard seen.insert(folder).inserted else { continue }
      let title = PlainText.line(String(folder.split(separator: "/").last ?? ""))
      guard !title.allSatisfy(\.isWhitespace), bookmarks.count < Self.maximumBookmarks else { continue }
      bookmarks.append(ComicGuide.Bookmark(page: number, title: title))
    }
    guard seen.count > 1, !bookmarks.isEmpty else { return self }
    var named = self
    named.guide = ComicGuide(bookmarks: bookmarks)
    return named
  }
}

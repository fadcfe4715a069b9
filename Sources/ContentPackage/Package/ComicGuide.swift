/// The words of a comic book's document for readers, beside its title: which way it is read, and which pages have names.
package struct ComicGuide: Hashable, Sendable {
  /// A page with a name.
  package struct Bookmark: Hashable, Sendable {
    /// Counted from zero, in the order of the pages.
    package var page: Int
    /// The name, without invisible characters and with single spaces.
    package var title: String

    /// A bookmark from its parts.
    package init(page: Int, title: String) {
      self.page = page
      self.title = title
    }
  }

  /// Whether pages are turned from right to left; nil where the document does not say.
  package var isRightToLeft: Bool?
  /// In the order of the pages, one for a page.
  package var bookmarks: [Bookmark] = []

  /// A guide from its parts.
  package init(isRightToLeft: Bool? = nil, bookmarks: [Bookmark] = []) {
    self.isRightToLeft = isRightToLeft
    self.bookmarks = bookmarks
  }
}

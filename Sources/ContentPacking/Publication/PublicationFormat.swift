import ContentPackage

/// The format of a file by its bytes, whatever it is called.
public enum PublicationFormat: Hashable, Sendable {
  case pdf
  case epub
  case comicBookZip
  case comicBookSevenZip
  case comicBookTar
  case mobipocket
  case djvu
  case fictionBook
  /// A RAR archive: nothing here reads its pages.
  case rar
  /// No publication; a clause that says what it is.
  case other(String)
  /// Bytes that nothing is known of.
  case unknown

  /// Whether those who read publications can open it, and it can be looked into.
  public var isPublication: Bool {
    switch self {
    case .pdf, .epub, .comicBookZip, .comicBookSevenZip, .comicBookTar, .mobipocket, .djvu, .fictionBook: true
    case .rar, .other, .unknown: false
    }
  }

  /// A clause for people, with its article.
  public var clause: String {
    switch self {
    case .pdf: "a PDF document"
    case .epub: "an EPUB"
    case .comicBookZip: "a comic book in a ZIP archive (CBZ)"
    case .comicBookSevenZip: "a comic book in a 7z archive (CB7)"
    case .comicBookTar: "a comic book in a tar archive (CBT)"
    case .mobipocket: "a Mobipocket or Kindle book"
    case .djvu: "a DjVu document"
    case .fictionBook: "a FictionBook"
    case .rar: "a RAR archive"
    case .other(let clause): clause
    case .unknown: "of no kind that is known"
    }
  }

  /// The type that it is delivered as; for what is no publication the one that goes with `name`. A file that
  /// is called like a publication and is none is delivered as bytes, so that no reader opens it by its name.
  func mediaType(named name: String) -> MediaType {
    switch self {
    case .pdf: .pdf
    case .epub: .epub
    case .comicBookZip: .comicBook
    case .comicBookSevenZip: .comicBookSevenZip
    case .comicBookTar: .comicBookTar
    case .mobipocket: .mobipocket
    case .djvu: .djvu
    case .fictionBook: .fictionBook
    case .rar: .comicBookRAR
    case .unknown: MediaType.guess(forFileNamed: name)
    case .other: Self.expected(of: name) == nil ? MediaType.guess(forFileNamed: name) : .bytes
    }
  }

  /// Returns the format that the name of a file promises; nil for a name that promises no publication.
  static func expected(of name: String) -> PublicationFormat? { endings[FileName(name).ending] }

  /// Whether programs will open a file called `name` as an archive, so that it is checked as one.
  static func isNamedAsArchive(_ name: String) -> Bool {
    archiveEndings.contains(FileName(name).ending)
  }

  private static let archiveEndings: Set<String> = ["cbz", "epub", "cbr", "cb7", "cbt"]

  private static let endings: [String: PublicationFormat] = [
    "pdf": .pdf, "epub": .epub, "kepub": .epub, "cbz": .comicBookZip, "cb7": .comicBookSevenZip,
    "cbt": .comicBookTar, "cbr": .rar, "mobi": .mobipocket, "azw": .mobipocket, "azw3": .mobipocket,
    "djvu": .djvu, "djv": .djvu, "fb2": .fictionBook,
  ]
}

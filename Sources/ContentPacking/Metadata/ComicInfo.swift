import ContentPackage

/// The description of a comic book in a document of its own. The members are those that ComicInfo.xml and
/// MetronInfo.xml have in common here.
struct ComicInfo: Hashable, Sendable {
  /// The title of the issue; nil where the document has none.
  var title: String?
  /// The name of the series.
  var series: String?
  /// The number within the series, which need not be digits.
  var number: String?
  /// The number of pages as the document says it.
  var pageCount: Int?
  /// The page of type `FrontCover`, counted from zero in the order of the pages. It may be beyond the last
  /// page: the document is not checked against the files.
  var coverPage: Int?

  /// The name to show for the issue: its title, else series and number.
  var displayTitle: String? {
    if let title { return title }
    guard let series else { return nil }
    return number.map { "\(series) #\($0)" } ?? series
  }

  /// Takes the first page that `attributes` of a `Page` call a front cover.
  mutating func notePage(_ attributes: [String: String]) {
    // The schema has a list of types, separated by spaces.
    let types = attributes["Type"]?.split(whereSeparator: \.isWhitespace) ?? []
    guard coverPage == nil, types.contains(where: { $0.lowercased() == "frontcover" }) else { return }
    coverPage = attributes["Image"].flatMap { Int($0.collapsingWhiteSpace) }
  }
}

/// The documents that describe a comic book, in the order in which they count.
enum ComicDocument: String, CaseIterable {
  /// The document of ComicRack, which most tools write; it counts first.
  case comicInfo = "ComicInfo.xml"
  /// The document of Metron.
  case metronInfo = "MetronInfo.xml"

  /// Bytes of its name.
  var nameLength: Int { rawValue.utf8.count }

  /// Whether the file at `path` is called so, in any case of its letters.
  func isName(of path: String) -> Bool {
    let name = path.utf8.suffix(nameLength)
    guard name.map({ $0 | 0x20 }) == rawValue.utf8.map({ $0 | 0x20 }) else { return false }
    return name.count == path.utf8.count || path.utf8.dropLast(name.count).last == 0x2F
  }

  /// Nil when `bytes` are no such document. A document that is well-formed and says nothing of use is read,
  /// with no member set.
  func read(_ bytes: [UInt8]) -> ComicInfo? {
    switch self {
    case .comicInfo: ComicInfoReader.read(bytes)
    case .metronInfo: MetronInfoReader.read(bytes)
    }
  }
}

/// Reads a `ComicInfo.xml` (anansi-project schema 2.0).
enum ComicInfoReader {
  /// Nil when `bytes` are no such document.
  static func read(_ bytes: [UInt8]) -> ComicInfo? {
    var info = ComicInfo()
    var isComicInfo = false
    let isWellFormed = XMLReader.read(bytes) { path, event in
      switch event {
      case .start(let attributes):
        if path == ["ComicInfo"] { isComicInfo = true }
        if path == ["ComicInfo", "Pages", "Page"] { info.notePage(attributes) }
      case .end(let text):
        let text = text.collapsingWhiteSpace
        guard path.count == 2, !text.isEmpty else { return }
        switch path[1] {
        case "Title": info.title = text
        case "Series": info.series = text
        case "Number": info.number = text
        case "PageCount": info.pageCount = Int(text)
        default: break
        }
      }
    }
    return isWellFormed && isComicInfo ? info : nil
  }
}

import ContentPackage

/// The elements of a `ComicInfo.xml` (anansi-project schema 2.0) that are read.
struct ComicInfo: Hashable, Sendable {
  static let fileName = "ComicInfo.xml"

  var title: String?
  var series: String?
  var number: String?
  var pageCount: Int?
  /// The page of type `FrontCover`, counted from zero in the order of the pages.
  var coverPage: Int?

  /// The name to show for the issue: its title, else series and number.
  var displayTitle: String? {
    if let title { return title }
    guard let series else { return nil }
    return number.map { "\(series) #\($0)" } ?? series
  }

  /// Whether the file at `path` is called so, in any case of its letters.
  static func isNamed(_ path: String) -> Bool {
    let name = path.utf8.suffix(fileName.utf8.count)
    guard name.map({ $0 | 0x20 }) == fileName.utf8.map({ $0 | 0x20 }) else { return false }
    return name.count == path.utf8.count || path.utf8.dropLast(name.count).last == 0x2F
  }
}

/// Reads a `ComicInfo.xml`.
enum ComicInfoReader {
  /// Nil when `bytes` are no such document.
  static func read(_ bytes: [UInt8]) -> ComicInfo? {
    var info = ComicInfo()
    var isComicInfo = false
    let isWellFormed = XMLReader.read(bytes) { path, event in
      switch event {
      case .start(let attributes):
        if path == ["ComicInfo"] { isComicInfo = true }
        if path == ["ComicInfo", "Pages", "Page"], info.coverPage == nil, isFrontCover(attributes["Type"]) {
          info.coverPage = attributes["Image"].flatMap { number($0) }
        }
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

  /// The schema has a list of types, separated by spaces.
  private static func isFrontCover(_ types: String?) -> Bool {
    types?.split(whereSeparator: \.isWhitespace).contains { $0.lowercased() == "frontcover" } ?? false
  }

  private static func number(_ text: String) -> Int? { Int(text.collapsingWhiteSpace) }
}

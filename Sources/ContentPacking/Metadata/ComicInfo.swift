import ContentPackage

/// What is read of a `ComicInfo.xml` (anansi-project schema 2.0).
struct ComicInfo: Hashable, Sendable {
  static let fileName = "ComicInfo.xml"

  var title: String?
  var series: String?
  var number: String?
  var pageCount: Int?
  /// The page of type `FrontCover`, counted from zero in the order of the pages.
  var coverPage: Int?

  /// What to call the issue: its title, else series and number.
  var displayTitle: String? {
    if let title { return title }
    guard let series else { return nil }
    return number.map { "\(series) #\($0)" } ?? series
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
        if path == ["ComicInfo", "Pages", "Page"], attributes["Type"] == "FrontCover", info.coverPage == nil {
          info.coverPage = attributes["Image"].flatMap { Int($0) }
        }
      case .end(let text):
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

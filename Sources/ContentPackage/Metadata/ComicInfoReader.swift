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

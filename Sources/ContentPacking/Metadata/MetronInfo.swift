/// Reads a `MetronInfo.xml` (Metron-Project schema 1.0; pages as its drafts have them).
enum MetronInfoReader {
  /// The title is that of the collection; where there is no series, that of the first story. Nil when `bytes` are no such
  /// document.
  static func read(_ bytes: [UInt8]) -> ComicInfo? {
    var info = ComicInfo()
    var story: String?
    var isMetronInfo = false
    let isWellFormed = XMLReader.read(bytes) { path, event in
      switch event {
      case .start(let attributes):
        if path == ["MetronInfo"] { isMetronInfo = true }
        if path == ["MetronInfo", "Pages", "Page"] { info.notePage(attributes) }
      case .end(let text):
        let text = text.collapsingWhiteSpace
        guard !text.isEmpty else { return }
        switch path {
        case ["MetronInfo", "CollectionTitle"]: info.title = text
        case ["MetronInfo", "Series", "Name"]: info.series = text
        case ["MetronInfo", "Number"]: info.number = text
        case ["MetronInfo", "PageCount"]: info.pageCount = Int(text)
        case ["MetronInfo", "Stories", "Story"], ["MetronInfo", "Stories", "Story", "Title"]:
          // A title within the story ends before the story does.
          story = story ?? text
        default: break
        }
      }
    }
    guard isWellFormed, isMetronInfo else { return nil }
    if info.series == nil { info.title = info.title ?? story }
    return info
  }
}

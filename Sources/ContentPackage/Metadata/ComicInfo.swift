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

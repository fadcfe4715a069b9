import CoreTypes

@testable import PullboxAPI

/// How far a product was read, as readers' applications and apps tell it (Readium's locators among it): what is read is the same once it is
/// written and read again, and what is kept of it keeps to its bounds and is kept again as it is.
enum ProgressProperties {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)

  static func check(_ bytes: [UInt8]) -> String? {
    if let broken = ReportProperties.check(bytes, as: ReadingProgress.self)
      ?? ReportProperties.check(bytes, as: ReadingReport.self)
    {
      return broken
    }
    guard let told = try? APIJSON.decode(ReadingProgress.self, from: bytes) else { return nil }
    for count in [nil, 0, 1, 7] {
      guard let kept = try? told.kept(at: now, of: count) else { continue }
      guard (try? kept.kept(at: now, of: count)) == kept else { return "\(kept) is kept otherwise" }
      let pages = 0..<max(1, count ?? 1_000_000)
      guard kept.modified <= now, kept.page.map(pages.contains) ?? true,
        kept.progression.map({ (0...1).contains($0) }) ?? true,
        kept.millionths.map({ (0...ReadingProgress.whole).contains($0) }) ?? true
      else { return "\(kept) is kept of \(pages.count) pages" }
      guard count == nil || kept.page == nil || kept.progression != nil else {
        return "a page without a part"
      }
    }
    return nil
  }
}

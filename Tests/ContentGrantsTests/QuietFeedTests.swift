import CoreTypes
import Testing

@testable import ContentGrants

@Suite("Feeds with nothing to tell")
struct QuietFeedTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)
  private let feed = FeedService.Name(number: 5, customer: 7)
  private let cursor = FeedService.Cursor(epoch: 1, sequence: 3)

  private var finding: QuietFeeds.Finding { QuietFeeds.Finding(feed: feed, cursor: cursor) }

  private func quiet() -> QuietFeeds {
    var feeds = QuietFeeds()
    let look = feeds.begin(5, at: start)
    if let look { feeds.keep(finding, of: look) }
    return feeds
  }

  @Test("what was found serves one request, with the cursor of the answer, within a minute")
  func once() {
    var feeds = quiet()
    #expect(feeds.take(feed, after: cursor, at: start + .seconds(59)) == finding)
    #expect(feeds.take(feed, after: cursor, at: start + .seconds(59)) == nil)
    feeds = quiet()
    #expect(feeds.take(feed, after: cursor, at: start + .seconds(60)) == nil)
    feeds = quiet()
    #expect(feeds.take(feed, after: .init(epoch: 1, sequence: 2), at: start) == nil)
    feeds = quiet()
    #expect(feeds.take(feed, after: nil, at: start) == nil)
    feeds = quiet()
    #expect(feeds.take(.init(number: 5, customer: 8), after: cursor, at: start) == nil)
  }

  @Test("what is heard during the look, or after it, takes it away")
  func heard() {
    for isAnything in [false, true] {
      var feeds = QuietFeeds()
      let look = feeds.begin(5, at: start) ?? 0
      if isAnything { feeds.forgetAll() } else { feeds.forget([4, 5]) }
      feeds.keep(finding, of: look)
      #expect(feeds.take(feed, after: cursor, at: start) == nil)
      feeds = quiet()
      if isAnything { feeds.forgetAll() } else { feeds.forget([4, 5]) }
      #expect(feeds.take(feed, after: cursor, at: start) == nil)
      #expect(feeds.isEmpty)
    }
    var feeds = quiet()
    feeds.forget([4])
    #expect(feeds.take(feed, after: cursor, at: start) == finding)
  }

  @Test("a later look counts, and an earlier one that ends after it changes nothing")
  func laterLook() {
    var feeds = QuietFeeds()
    let (first, second) = (feeds.begin(5, at: start) ?? 0, feeds.begin(5, at: start) ?? 0)
    feeds.keep(finding, of: first)
    #expect(feeds.take(feed, after: cursor, at: start) == nil)
    feeds.drop(5, of: first)
    feeds.keep(finding, of: second)
    #expect(feeds.take(feed, after: cursor, at: start) == finding)
  }

  @Test("no more are remembered than the bound, and none longer than a minute")
  func bound() {
    var feeds = QuietFeeds()
    for number in 0..<Int64(QuietFeeds.capacity) { _ = feeds.begin(number, at: start) }
    #expect(feeds.begin(-1, at: start) == nil)
    #expect(feeds.begin(0, at: start) != nil)
    feeds.forgetOld(at: start + .seconds(59))
    #expect(feeds.count == QuietFeeds.capacity)
    feeds.forgetOld(at: start + .seconds(60))
    #expect(feeds.isEmpty)
  }
}

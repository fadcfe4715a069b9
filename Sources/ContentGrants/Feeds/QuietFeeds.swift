import CoreTypes

/// Feeds whose last request was answered with nothing, and of which nothing has been heard since: the request that follows need
/// not ask the database. A value without a lock of its own: ``FeedWaiters`` keeps it behind one.
///
/// A feed is noted before it is looked at, so that what is heard during the look is not missed; it is quiet once the look has
/// found nothing.
struct QuietFeeds {
  /// For how long a feed is remembered after its answer: devices that wait come again at once.
  static let memory: Duration = .seconds(60)
  /// Feeds that are remembered, at most.
  static let capacity = 65_536

  /// The ground of an answer that tells nothing.
  struct Finding: Hashable {
    /// The feed with the customer's tag.
    var feed: FeedService.Name
    /// The place behind which there was nothing.
    var cursor: FeedService.Cursor
    /// When there may be more though nothing happens; nil where only an event can change that.
    var next: Timestamp?
  }

  private struct Entry {
    let look: UInt64
    let until: MonotonicInstant
    var finding: Finding?
  }

  private var entries: [Int64: Entry] = [:]
  private var looks: UInt64 = 0

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  /// Notes the feed before a look, which has the number that is returned. Nil where as many are remembered as may be.
  mutating func begin(_ feed: Int64, at now: MonotonicInstant) -> UInt64? {
    guard entries.count < Self.capacity || entries[feed] != nil else { return nil }
    looks += 1
    entries[feed] = Entry(look: looks, until: now + Self.memory)
    return looks
  }

  /// The look has found nothing. Ignored where something was heard of the feed meanwhile.
  mutating func keep(_ finding: Finding, of look: UInt64) {
    guard entries[finding.feed.number]?.look == look else { return }
    entries[finding.feed.number]?.finding = finding
  }

  /// The look has found something, or failed.
  mutating func drop(_ feed: Int64, of look: UInt64) {
    if entries[feed]?.look == look { entries[feed] = nil }
  }

  /// Returns what is known of the feed for a request with that cursor, once.
  mutating func take(
    _ feed: FeedService.Name, after cursor: FeedService.Cursor?, at now: MonotonicInstant
  ) -> Finding? {
    guard let entry = entries[feed.number] else { return nil }
    // A look that goes on is another request's.
    guard let finding = entry.finding else { return nil }
    entries[feed.number] = nil
    guard now < entry.until, finding.feed == feed, finding.cursor == cursor else { return nil }
    return finding
  }

  /// Something was heard of these feeds.
  mutating func forget(_ feeds: [Int64]) {
    for feed in feeds { entries[feed] = nil }
  }

  /// Something was heard that may be of any feed.
  mutating func forgetAll() { entries = [:] }

  /// Forgets those whose devices did not come again.
  mutating func forgetOld(at now: MonotonicInstant) {
    entries = entries.filter { now < $0.value.until }
  }
}

import Commerce
import CoreTypes
import Entitlements

/// The products that a story opens, found without any means of the rules: by walking over every tick of it, one after the other, and
/// noting what was paid, served and published then. Slow, and simple enough to be read against docs/entitlements.md.
struct TickByTick {
  /// Behind every tick at which something happens.
  static let horizon = GeneratedStory.length * 6

  /// The state of one subscription at every tick.
  private struct Track {
    var paid = [Bool](repeating: false, count: TickByTick.horizon)
    var grace = [Bool](repeating: false, count: TickByTick.horizon)
    var charging = [Bool](repeating: false, count: TickByTick.horizon)
  }

  private struct Span {
    var transaction: VerifiedTransaction
    var start: Int
    var end: Int
    /// The last tick that the grace reaches without a payment.
    var graceReach = 0
  }

  private let story: GeneratedStory
  private var spans: [Span] = []
  private var tracks: [ProductIdentifier: Track] = [:]
  private var isCovered = [Bool](repeating: false, count: TickByTick.horizon)

  init(_ story: GeneratedStory) {
    self.story = story
    for subscription in GeneratedStory.subscriptions { lay(subscription) }
    cover()
  }

  /// Every product that is owned, and the tick at which that ends; nil for what does not end.
  var owned: [ProductIdentifier: Int?] {
    var owned: [ProductIdentifier: Int?] = [:]
    for subscription in GeneratedStory.subscriptions where serves(subscription, at: story.now) {
      owned[subscription] = .some(end { serves(subscription, at: $0) })
    }
    for issue in story.issues.keys {
      var ends = story.transactions.filter { $0.product == issue && counts($0) }.map {
        $0.licenseEndDate.map(GeneratedStory.tick(of:))
      }
      if isOpened(issue) {
        if story.policy.keepsIssuesAfterLapse {
          ends.append(nil)
        } else if servesAny(at: story.now) {
          ends.append(end { servesAny(at: $0) })
        }
      }
      guard !ends.isEmpty else { continue }
      owned[issue] = .some(ends.contains { $0 == nil } ? nil : ends.compactMap { $0 }.max())
    }
    return owned
  }

  private func end(_ serves: (Int) -> Bool) -> Int? {
    (story.now..<Self.horizon).first { !serves($0) }
  }

  private func counts(_ transaction: VerifiedTransaction) -> Bool {
    func isOver(_ date: Timestamp?) -> Bool { date.map { GeneratedStory.tick(of: $0) <= story.now } ?? false }
    return isOver(transaction.purchaseDate) && !isOver(transaction.revokedDate)
      && !isOver(transaction.licenseEndDate)
  }

  private func serves(_ subscription: ProductIdentifier, at tick: Int) -> Bool {
    guard let track = tracks[subscription] else { return false }
    return track.paid[tick] || story.policy.servesInGrace && track.grace[tick]
      || story.policy.servesInBillingRetry && track.charging[tick]
  }

  private func servesAny(at tick: Int) -> Bool {
    GeneratedStory.subscriptions.contains { serves($0, at: tick) }
  }

  /// Marks what was paid for one subscription, and the ticks behind each period at which nothing was paid yet.
  private mutating func lay(_ subscription: ProductIdentifier) {
    var track = Track()
    var own: [Span] = []
    var seen: Set<[String]> = []
    var next = 0
    let paid = story.transactions.filter { $0.product == subscription && counts($0) }.sorted {
      ($0.purchaseDate, $0.id.description) < ($1.purchaseDate, $1.id.description)
    }
    for transaction in paid {
      var start = GeneratedStory.tick(of: transaction.purchaseDate)
      var end: Int
      if let expires = transaction.expiresDate {
        end = GeneratedStory.tick(of: expires)
      } else if subscription == GeneratedStory.free {
        end = Self.horizon
      } else {
        guard seen.insert(["\(transaction.originalID)", "\(start)"]).inserted else { continue }
        start = max(start, next)
        // Six ticks are a day; the catalog's season has three.
        end = start + (story.record.lengths[transaction.id] == nil ? 18 : 12)
        next = end
      }
      own.append(Span(transaction: transaction, start: start, end: end))
      for tick in start..<end { track.paid[tick] = true }
    }
    for index in own.indices {
      let (transaction, end) = (own[index].transaction, own[index].end)
      func walk(to limit: Timestamp?, _ mark: (Int) -> Void) -> Int {
        // The time that follows a period that still runs is not known yet.
        guard let limit, end <= story.now else { return 0 }
        var tick = end
        while tick < GeneratedStory.tick(of: limit), !track.paid[tick] {
          mark(tick)
          tick += 1
        }
        return tick > end ? tick : 0
      }
      own[index].graceReach = walk(to: transaction.graceExpiresDate) { track.grace[$0] = true }
      _ = walk(to: transaction.billingRetryEndDate) { track.charging[$0] = true }
    }
    tracks[subscription] = track
    spans += own
  }

  /// Marks the ticks of uninterrupted runs: those that were paid, and gaps that are no lapse.
  private mutating func cover() {
    for tick in isCovered.indices { isCovered[tick] = tracks.values.contains { $0.paid[tick] } }
    var gap: Int?
    for tick in isCovered.indices.dropFirst() {
      if isCovered[tick - 1], !isCovered[tick] { gap = tick }
      guard isCovered[tick], !isCovered[tick - 1], let start = gap else { continue }
      let isRecovered = spans.contains { $0.end <= start && $0.graceReach >= tick }
      if isRecovered || spans.contains(where: { tolerates(behind: $0, upTo: tick, from: start) }) {
        for bridged in start..<tick { isCovered[bridged] = true }
      }
    }
  }

  /// A gap behind a period of a week or more, 42 ticks, may have the whole tolerance, and behind a shorter one the share of it that
  /// the period is of a week. Where the store gave a grace, the payment has to come in that.
  private func tolerates(behind span: Span, upTo tick: Int, from start: Int) -> Bool {
    guard span.end <= start, span.graceReach == 0 else { return false }
    let share = min(42, span.end - span.start)
    return Double(tick - span.end) * 42 * (GeneratedStory.tick / .seconds(1))
      <= (story.policy.tolerance / .seconds(1)) * Double(share)
  }

  private func isOpened(_ issue: ProductIdentifier) -> Bool {
    let isWritten = story.transactions.contains { transaction in
      counts(transaction)
        && (story.record.granted[transaction.id]?.contains(issue) == true
          || story.record.unlocked[transaction.id]?.contains(issue) == true)
    }
    if isWritten { return true }
    guard let appeared = story.issues[issue], appeared <= story.now else { return false }
    // Nobody could have it before its release.
    let late = story.releases[issue].flatMap { appeared < $0 && $0 <= story.now ? $0 : nil }
    if isCovered[appeared] { return true }
    // An issue that was released with the first moment of a run may have been there before.
    if let late, late > 0, isCovered[late], isCovered[late - 1] { return true }
    for moment in [appeared] + [late].compactMap({ $0 }) {
      if story.policy.keepsIssuesOfUnrecoveredGrace, tracks.values.contains(where: { $0.grace[moment] }) {
        return true
      }
    }
    return isCovered.indices.contains { tick in
      isCovered[tick] && (tick == 0 || !isCovered[tick - 1]) && unlocked(at: tick).contains(issue)
    }
  }

  /// The issues that a run that begins then opens of those that have appeared before.
  private func unlocked(at start: Int) -> Set<ProductIdentifier> {
    let first = spans.filter { $0.start == start }.min {
      ($0.transaction.purchaseDate, $0.transaction.id.description)
        < ($1.transaction.purchaseDate, $1.transaction.id.description)
    }
    if let first, let recorded = story.record.unlocked[first.transaction.id] { return recorded }
    let dates = Set(story.issues.values.filter { $0 <= start }).sorted(by: >)
    // An issue that has a date and no release yet is not what a reader sees as the latest; it is given as well.
    let visible = dates.drop { date in
      !story.issues.contains { issue, tick in
        tick == date && story.releases[issue].map { $0 <= start } == true
      }
    }
    var chosen: Set<Int> = []
    for shelf in [dates[...], visible] {
      chosen.formUnion(shelf.dropFirst().prefix(story.policy.backIssues))
      if story.policy.unlocksLatestIssue, let latest = shelf.first { chosen.insert(latest) }
    }
    return Set(story.issues.filter { chosen.contains($0.value) }.keys)
  }
}

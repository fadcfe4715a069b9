import CoreTypes

/// The ledger of the budget for request bodies, as a value: the room that each body holds, the bodies that wait, and those
/// that must go.
///
/// A body reserves room as it arrives. A quarter of the budget is for small bodies alone, which nearly all bodies are, so
/// that large ones cannot use it up. One large body at a time that finds no room may go beyond the budget, which then does
/// not count it. A small body that finds no room has the body ended that has been arriving longest: a body that is being
/// sent arrives in moments, one that is held back does not. The same happens when more than ``maximumArriving`` arrive.
struct BodyLedger {
  /// The largest length of a small body, in bytes.
  static let smallLength = 65_536
  /// How long a body may arrive before it may be ended for another's sake.
  static let grace = Duration.milliseconds(250)
  /// How long a body waits for room.
  static let patience = Duration.seconds(2)
  /// A body arrives within this and its length at ``leastRate``.
  static let start = Duration.seconds(30)
  /// Bytes a second.
  static let leastRate = 16_384.0

  /// Names a reservation; a later one is larger.
  typealias Identifier = UInt64

  /// The answer to a body that asks for room.
  package enum Verdict: Hashable {
    case granted
    /// The answer comes later, in ``Changes``.
    case wait
  }

  /// The effects of a step on other bodies.
  package struct Changes: Hashable {
    /// Those that waited and have their room now.
    package var granted: [Identifier] = []
    /// Those that get none, whether they waited or were arriving.
    package var refused: [Identifier] = []
    /// Those that arrive too slowly.
    var timedOut: [Identifier] = []
  }

  /// The ledger's account of one body.
  private struct Entry {
    package var held = 0
    package var received = 0
    package let start: MonotonicInstant
    var isArriving = true
    /// It was told to go; its room comes back when it is released.
    var isLeaving = false
    /// Bytes in all that it waits for; nil while it does not wait.
    package var wanted: Int?
    var waitsSince: MonotonicInstant?
  }

  private(set) var budget: Int
  /// Bytes that are reserved, also those beyond the budget.
  private(set) var held = 0
  /// Bodies that are arriving and not told to go.
  private var arriving = 0
  /// The large body that may go beyond the budget.
  private var exempt: Identifier?
  private var entries: [Identifier: Entry] = [:]
  private var waiting: Set<Identifier> = []
  private var next: Identifier = 0
  /// In the order in which they began; some are gone already.
  private var order: [Identifier] = []
  private var orderStart = 0

  init(budget: Int) {
    self.budget = budget
  }

  mutating func setBudget(_ budget: Int) {
    self.budget = budget
  }

  /// Bodies that arrive at once: as many as the budget has 16 KiB, of which each is likely to need one.
  var maximumArriving: Int { budget / 16_384 }

  /// Before another body begins: ends the one that has been arriving longest where as many arrive as may, unless all
  /// have begun within ``grace``.
  mutating func makePlace(now: MonotonicInstant) -> Changes {
    trimOrder()
    guard arriving >= maximumArriving,
      let oldest = order[orderStart...].first(where: isArriving),
      let start = entries[oldest]?.start, now - start >= Self.grace
    else { return Changes() }
    markLeaving(oldest)
    return Changes(refused: [oldest])
  }

  /// Begins a body that holds nothing yet and counts as arriving.
  mutating func begin(now: MonotonicInstant) -> Identifier {
    next += 1
    entries[next] = Entry(start: now)
    order.append(next)
    arriving += 1
    return next
  }

  /// Asks for `total` bytes in all. Changes name those that are ended for its sake.
  mutating func reserve(
    _ identifier: Identifier, total: Int, now: MonotonicInstant
  ) -> (Verdict, Changes) {
    var changes = Changes()
    guard var entry = entries[identifier], total > entry.held, !entry.isLeaving else {
      return (.granted, changes)
    }
    if hasRoom(for: total, of: identifier) {
      held += total - entry.held
      entry.held = total
      entries[identifier] = entry
      return (.granted, changes)
    }
    entry.wanted = total
    entry.waitsSince = now
    entries[identifier] = entry
    waiting.insert(identifier)
    if total <= Self.smallLength {
      changes.refused = end(enoughFor: total - entry.held, sparing: identifier, now: now)
    }
    return (.wait, changes)
  }

  /// Counts bytes that came, by which ``sweep(now:)`` tells a slow body.
  mutating func didReceive(_ count: Int, for identifier: Identifier) {
    entries[identifier]?.received += count
  }

  /// The body is whole, or given up: what it holds stays reserved until ``release(_:now:)``.
  mutating func didEnd(_ identifier: Identifier) {
    stopArriving(identifier)
    entries[identifier]?.isArriving = false
    stopWaiting(identifier)
  }

  /// The request is answered.
  mutating func release(_ identifier: Identifier) -> Changes {
    stopArriving(identifier)
    guard let entry = entries.removeValue(forKey: identifier) else { return Changes() }
    waiting.remove(identifier)
    held -= entry.held
    if exempt == identifier { exempt = nil }
    if entries.isEmpty {
      order = []
      orderStart = 0
    }
    return Changes(granted: grantWaiting())
  }

  /// Ends what has waited, or is arriving, for too long.
  mutating func sweep(now: MonotonicInstant) -> Changes {
    var changes = Changes()
    for (identifier, entry) in entries where entry.isArriving && !entry.isLeaving {
      if let since = entry.waitsSince {
        if now - since >= Self.patience { changes.refused.append(identifier) }
      } else if (now - entry.start).inSeconds
        > Self.start.inSeconds + Double(entry.received) / Self.leastRate
      {
        changes.timedOut.append(identifier)
      }
    }
    for identifier in changes.refused + changes.timedOut { markLeaving(identifier) }
    changes.refused += endForSmallBodies(now: now)
    changes.granted = grantWaiting()
    return changes
  }

  /// Tells the body to go. It counts as arriving no more, and its bytes stay reserved until it is released.
  private mutating func markLeaving(_ identifier: Identifier) {
    stopArriving(identifier)
    entries[identifier]?.isLeaving = true
    stopWaiting(identifier)
  }

  /// Counts it no more, before it is marked or removed.
  private mutating func stopArriving(_ identifier: Identifier) {
    if isArriving(identifier) { arriving -= 1 }
  }

  private func isArriving(_ identifier: Identifier) -> Bool {
    entries[identifier].map { $0.isArriving && !$0.isLeaving } ?? false
  }

  private mutating func stopWaiting(_ identifier: Identifier) {
    entries[identifier]?.wanted = nil
    entries[identifier]?.waitsSince = nil
    waiting.remove(identifier)
  }

  /// Bytes of the budget that are reserved.
  private var counted: Int { held - (exempt.flatMap { entries[$0]?.held } ?? 0) }

  /// Whether the body may have `total` bytes; a large one is made ``exempt`` for them where none is.
  private mutating func hasRoom(for total: Int, of identifier: Identifier) -> Bool {
    if exempt == identifier { return true }
    let isSmall = total <= Self.smallLength
    let bound = isSmall ? budget : budget - budget / 4
    if counted + total - (entries[identifier]?.held ?? 0) <= bound { return true }
    guard !isSmall, exempt == nil else { return false }
    exempt = identifier
    return true
  }

  /// Ends others for the small bodies that wait: when they asked, those may all have been in their first moments.
  private mutating func endForSmallBodies(now: MonotonicInstant) -> [Identifier] {
    var needed = 0
    var ended: [Identifier] = []
    for identifier in waiting.sorted() {
      guard let entry = entries[identifier], let wanted = entry.wanted, wanted <= Self.smallLength else {
        continue
      }
      needed += wanted - entry.held
      ended += end(enoughFor: needed, sparing: identifier, now: now)
    }
    return ended
  }

  /// Marks the oldest bodies that are arriving until what they hold suffices.
  private mutating func end(
    enoughFor count: Int, sparing spared: Identifier, now: MonotonicInstant
  ) -> [Identifier] {
    var coming = budget - counted
    var ended: [Identifier] = []
    var index = orderStart
    while coming < count, index < order.count {
      let identifier = order[index]
      index += 1
      // What goes beyond the budget leaves none of it.
      guard identifier != spared, identifier != exempt, let entry = entries[identifier] else { continue }
      if entry.isLeaving { coming += entry.held }
      guard entry.isArriving, !entry.isLeaving, entry.held > 0 else { continue }
      // Those behind are younger still.
      guard now - entry.start >= Self.grace else { break }
      coming += entry.held
      markLeaving(identifier)
      ended.append(identifier)
    }
    trimOrder()
    return ended
  }

  /// Forgets those that are gone: at the beginning, and all where they are most.
  private mutating func trimOrder() {
    while orderStart < order.count, entries[order[orderStart]] == nil { orderStart += 1 }
    guard order.count > 2 * entries.count + 1024 else { return }
    order = order[orderStart...].filter { entries[$0] != nil }
    orderStart = 0
  }

  /// Gives those that wait their room, small ones first, then in order.
  private mutating func grantWaiting() -> [Identifier] {
    guard !waiting.isEmpty else { return [] }
    var granted: [Identifier] = []
    let sorted = waiting.map { (isLarge: (entries[$0]?.wanted ?? 0) > Self.smallLength, identifier: $0) }
      .sorted { left, right in
        left.isLarge == right.isLarge ? left.identifier < right.identifier : right.isLarge
      }
    for (_, identifier) in sorted {
      guard let entry = entries[identifier], let wanted = entry.wanted,
        hasRoom(for: wanted, of: identifier)
      else { continue }
      held += wanted - entry.held
      entries[identifier]?.held = wanted
      stopWaiting(identifier)
      granted.append(identifier)
    }
    return granted
  }
}

import CoreTypes

/// Who holds how much of the budget for request bodies, as a value: what is reserved, who waits, who must go.
///
/// A body reserves room as it arrives. A quarter of the budget is for small bodies only, which nearly all are, so that
/// large ones cannot use it up. A small one that finds no room has the body ended that has been arriving longest: one
/// that is being sent arrives in moments, one that is held back does not.
struct BodyLedger {
  /// What a body may take at most to count as small, in bytes.
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

  enum Verdict: Hashable {
    case granted
    /// The answer comes later, in ``Changes``.
    case wait
  }

  /// What follows for others.
  struct Changes: Hashable {
    /// Those that waited and have their room now.
    var granted: [Identifier] = []
    /// Those that get none, whether they waited or were arriving.
    var refused: [Identifier] = []
    /// Those that arrive too slowly.
    var timedOut: [Identifier] = []
  }

  private struct Entry {
    var held = 0
    var received = 0
    let start: MonotonicInstant
    var isArriving = true
    /// It was told to go; its room comes back when it is released.
    var isLeaving = false
    var wanted: Int?
    var waitsSince: MonotonicInstant?
  }

  private(set) var budget: Int
  /// Bytes that are reserved.
  private(set) var held = 0
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

  mutating func begin(now: MonotonicInstant) -> Identifier {
    next += 1
    trimOrder()
    entries[next] = Entry(start: now)
    order.append(next)
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
    if hasRoom(for: total, beyond: entry.held) {
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

  mutating func didReceive(_ count: Int, for identifier: Identifier) {
    entries[identifier]?.received += count
  }

  /// The body is whole, or given up: what it holds stays reserved until ``release(_:now:)``.
  mutating func didEnd(_ identifier: Identifier) {
    entries[identifier]?.isArriving = false
    stopWaiting(identifier)
  }

  /// The request is answered.
  mutating func release(_ identifier: Identifier) -> Changes {
    guard let entry = entries.removeValue(forKey: identifier) else { return Changes() }
    waiting.remove(identifier)
    held -= entry.held
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
    changes.granted = grantWaiting()
    return changes
  }

  private mutating func markLeaving(_ identifier: Identifier) {
    entries[identifier]?.isLeaving = true
    stopWaiting(identifier)
  }

  private mutating func stopWaiting(_ identifier: Identifier) {
    entries[identifier]?.wanted = nil
    entries[identifier]?.waitsSince = nil
    waiting.remove(identifier)
  }

  private func hasRoom(for total: Int, beyond held: Int) -> Bool {
    let bound = total <= Self.smallLength ? budget : budget - budget / 4
    return self.held + total - held <= bound
  }

  /// Marks the oldest bodies that are arriving until what they hold suffices.
  private mutating func end(
    enoughFor count: Int, sparing spared: Identifier, now: MonotonicInstant
  ) -> [Identifier] {
    var coming = budget - held
    var ended: [Identifier] = []
    var index = orderStart
    while coming < count, index < order.count {
      let identifier = order[index]
      index += 1
      guard let entry = entries[identifier], entry.isArriving, !entry.isLeaving, identifier != spared else {
        if let entry = entries[identifier], entry.isLeaving { coming += entry.held }
        continue
      }
      // Those behind are younger still.
      guard now - entry.start >= Self.grace else { break }
      coming += entry.held
      markLeaving(identifier)
      ended.append(identifier)
    }
    trimOrder()
    return ended
  }

  /// Forgets the beginning of the order, which is gone.
  private mutating func trimOrder() {
    while orderStart < order.count, entries[order[orderStart]] == nil { orderStart += 1 }
    guard orderStart > 1024, orderStart * 2 > order.count else { return }
    order.removeFirst(orderStart)
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
        hasRoom(for: wanted, beyond: entry.held)
      else { continue }
      held += wanted - entry.held
      entries[identifier]?.held = wanted
      stopWaiting(identifier)
      granted.append(identifier)
    }
    return granted
  }
}

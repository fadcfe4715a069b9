package import Commerce
package import CoreTypes
package import PullboxAPI
package import ServiceAPI

/// When each of what is to be fetched is: by a clock that is never set. A device's wall clock may be years off until a network tells it the
/// time, and what is due must neither wait for the year to come round nor come at once because of that. Pure.
package struct ArrivalSlots {
  private struct Slot {
    var entry: FeedEntry
    var due: MonotonicInstant
  }

  /// No slot is waited for longer, whatever the clocks say: releases are spread over less.
  package static let longest: Duration = .seconds(7 * 86_400)

  private var slots: [ProductIdentifier: Slot] = [:]

  package init() {
  }

  /// When the next is due, also where that was before; nil where there is none.
  package var next: MonotonicInstant? { slots.values.map(\.due).min() }

  /// Takes in what is to be fetched now: what was to be before keeps its slot, and what is gone has none. Both clocks are read at one moment.
  package mutating func update(
    _ entries: [ProductIdentifier: FeedEntry], wall: Timestamp, now: MonotonicInstant
  ) {
    slots = slots.filter { entries[$0.key] == $0.value.entry }
    for (product, entry) in entries where slots[product] == nil {
      let wait = entry.notBefore.map { min(max($0 - wall, .zero), Self.longest) } ?? .zero
      slots[product] = Slot(entry: entry, due: now + wait)
    }
  }

  /// False for a product without a slot.
  package func isDue(_ product: ProductIdentifier, at now: MonotonicInstant) -> Bool {
    slots[product].map { $0.due <= now } ?? false
  }

  /// It stays so while the product's entry is the same. Nothing happens without a slot.
  package mutating func postpone(_ product: ProductIdentifier, until moment: MonotonicInstant) {
    slots[product]?.due = moment
  }
}

extension FeedResponse {
  /// With its dates by this device's clock, of what a server said whose clock showed `told` when this one showed `now`.
  package func translated(from told: Timestamp, to now: Timestamp) -> FeedResponse {
    var answer = self
    answer.feed.expires = now + (feed.expires - told)
    answer.entries = entries.map { entry in
      var entry = entry
      entry.notBefore = entry.notBefore.map { now + ($0 - told) }
      return entry
    }
    return answer
  }
}

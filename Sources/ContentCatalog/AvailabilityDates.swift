import Commerce
package import CoreTypes

/// A time in which products neither come on sale nor go off it by their dates.
package struct SteadySale: Hashable, Sendable {
  /// When one last did; nil where none has yet.
  package var since: Timestamp?
  /// When the next will; nil where none is to come.
  package var until: Timestamp?

  /// Whether the moment lies in this time; its end does not.
  package func contains(_ moment: Timestamp) -> Bool {
    (since.map { $0 <= moment } ?? true) && (until.map { moment < $0 } ?? true)
  }
}

/// The moments at which products come on sale or go off it, each as often as there are products that do. A
/// change costs a look into a dictionary, and ``sort()`` the sorting of all moments.
struct AvailabilityDates: Sendable {
  /// How many products come or go at each moment; 1 at least.
  private var counts: [Timestamp: Int] = [:]
  /// The moments in their order, as of the last call of ``sort()``.
  private var sorted: [Timestamp] = []
  private var isSorted = true

  /// Takes the dates of a product out and those of its new description in; nil where there is none. Dates that
  /// stay the same cost nothing.
  mutating func replace(_ old: Product?, by new: Product?) {
    let (removed, added) = (
      [old?.availableFrom, old?.availableUntil].compactMap { $0 },
      [new?.availableFrom, new?.availableUntil].compactMap { $0 }
    )
    guard removed != added else { return }
    for date in removed { counts[date] = counts[date].flatMap { $0 > 1 ? $0 - 1 : nil } }
    for date in added { counts[date, default: 0] += 1 }
    isSorted = false
  }

  /// To be called after the last change.
  mutating func sort() {
    guard !isSorted else { return }
    sorted = counts.keys.sorted()
    isSorted = true
  }

  /// The time around `now` in which no date lies. Right only after ``sort()``.
  func steady(around now: Timestamp) -> SteadySale {
    let next = sorted.partitioningIndex { $0 > now }
    return SteadySale(
      since: next > 0 ? sorted[next - 1] : nil, until: next < sorted.count ? sorted[next] : nil)
  }
}

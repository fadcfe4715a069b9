package import CoreTypes

/// When another way to the network is worth a try of all that waits: the first change at once, and those of a way that comes and goes at
/// growing pauses, or a flapping route would take the pauses from a service that is down. Pure: it is told the time.
package struct WayChanges: Hashable, Sendable {
  /// The shortest and the longest pause; each is twice the one before.
  static let pauses: (shortest: Duration, longest: Duration) = (.seconds(2), .seconds(60))

  private var pause: Duration = .zero
  private var last: MonotonicInstant?
  /// When the next try is due; nil for none.
  package private(set) var due: MonotonicInstant?

  package init() {}

  /// The way is another one now.
  package mutating func note(at now: MonotonicInstant) {
    guard due == nil else { return }
    // A way that has stayed for long is trusted again.
    if let last, now - last >= Self.pauses.longest + pause { pause = .zero }
    due = max(now, last.map { $0 + pause } ?? now)
  }

  /// Whether a try is due.
  package mutating func take(at now: MonotonicInstant) -> Bool {
    guard let due, due <= now else { return false }
    pause = min(max(Self.pauses.shortest, pause * 2), Self.pauses.longest)
    (last, self.due) = (now, nil)
    return true
  }
}

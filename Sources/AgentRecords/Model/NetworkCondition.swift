package import CoreTypes

/// Whether the way to a service is open, or something else answers in its place: a log-in page, a filter, a proxy. A
/// pure value.
///
/// While it is closed one call in a while goes out as a probe, for everything that waits; the pauses between the
/// probes grow. The service's own word alone opens it again.
///
/// ```swift
/// var condition = NetworkCondition()
/// condition.admit(at: now)                                      // .open
/// condition.fail(wasProbe: false, at: now) { _ in .seconds(1) } // closed for a second
/// condition.admit(at: now)                                      // .held(.seconds(1))
/// condition.admit(at: now + .seconds(1))                        // .probe
/// condition.succeed()                                           // true: it has just opened
/// ```
package struct NetworkCondition: Hashable, Sendable {
  /// The decision about a call that is about to be made.
  package enum Admission: Hashable, Sendable {
    case open
    /// The call goes out, and its end is to be told, for all others wait for it.
    case probe
    /// The call is not made; another try is worth it after so long.
    case held(Duration)
  }

  /// How long a probe is waited for before another call takes its place: one whose end is never told must not close the
  /// way for good. It is longer than a transfer may stand still.
  static let longestProbe: Duration = .seconds(90)

  /// Answers in a row that were not the service's; zero while the way is open.
  package private(set) var failures = 0
  /// It counts while the way is closed.
  private var nextProbe = MonotonicInstant(nanoseconds: 0)

  package init(failures: Int = 0) {
    self.failures = failures
  }

  package var isOpen: Bool { failures == 0 }

  /// One call at a time is a probe: until its end is told, or for ``longestProbe``. The others learn how long
  /// to wait.
  package mutating func admit(at now: MonotonicInstant) -> Admission {
    guard !isOpen else { return .open }
    guard nextProbe <= now else { return .held(nextProbe - now) }
    nextProbe = now + Self.longestProbe
    return .probe
  }

  /// Something else than the service answered, or nothing did while the way was closed: the next probe is due after
  /// `pause`. A call that went out before the last probe was planned changes nothing.
  package mutating func fail(wasProbe: Bool, at now: MonotonicInstant, pause: (_ failures: Int) -> Duration) {
    guard isOpen || wasProbe else { return }
    failures += 1
    nextProbe = now + pause(failures)
  }

  /// The next probe is due then, if not before: the machine has another way, or the probe that is out was given up.
  package mutating func hurry(at due: MonotonicInstant) {
    guard !isOpen else { return }
    nextProbe = min(nextProbe, due)
  }

  /// The service itself answered. Whether that opens the way.
  package mutating func succeed() -> Bool {
    defer { failures = 0 }
    return !isOpen
  }
}

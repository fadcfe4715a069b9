package import CoreTypes

/// The lease as one process knows it: whether the process holds it, and when to ask for it again. Pure; the row that all
/// processes share is ``LeaseTable``'s.
package struct LeaseMachine: Hashable, Sendable {
  /// How long a lease lasts from when it was asked for. The clocks of the processes may differ by a part of that.
  package static let duration: Duration = .seconds(30)

  /// The next step of a process before a piece of work.
  package enum Decision: Hashable, Sendable {
    /// The lease is held for long enough: the work may go on.
    case work
    /// The table is to be asked.
    case ask
  }

  /// Nil while another process holds it, or it is not known which.
  package private(set) var until: Timestamp?

  /// A lease that was not asked for yet.
  package init() {}

  /// At `now`, before a piece of work. A lease that ends within half of ``duration`` is asked for again before.
  package func decide(at now: Timestamp) -> Decision {
    guard let until else { return .ask }
    let left = until - now
    // More than it ever lasts is left only when the clock was set back.
    return left > Self.duration / 2 && left <= Self.duration ? .work : .ask
  }

  /// Takes in the table's answer to the question asked at `now`.
  package mutating func handle(isHeld: Bool, askedAt now: Timestamp) {
    until = isHeld ? now + Self.duration : nil
  }
}

/// The conditions that keep a job from running, other than a delay and the number of places.
package enum HoldCondition: String, CaseIterable, Hashable, Sendable {
  case libraryOffline = "library-offline"
  /// The agent is about to end.
  case draining
  /// Every download that claims it is paused, failed, or asks for a new grant.
  case noReader = "no-reader"
  /// It was refused the room that it needs, and none has appeared since.
  case noRoom = "no-room"
  /// No window is open in which downloads may run.
  case outsideWindow = "outside-window"
  /// The bytes of this month have come.
  case budgetSpent = "budget-spent"
  /// A download that is wanted now has taken its place.
  case preempted

  /// The reason that is shown for a job that the condition holds; nil if none is shown.
  var reason: StatusReason? {
    switch self {
    case .libraryOffline: .libraryOffline
    case .noRoom: .insufficientSpace
    case .outsideWindow: .outsideWindow
    case .budgetSpent: .budgetSpent
    case .preempted: .preempted
    case .draining, .noReader: nil
    }
  }
}

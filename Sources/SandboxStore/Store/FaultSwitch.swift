import CoreTypes
import PullboxAPI
import ServiceAPI
import Synchronization

/// The faults that the store shows on purpose, until they are set otherwise. They are kept over a restart.
final class FaultSwitch: Sendable {
  private let faults = Mutex(StoreFaults())

  /// Every member is nil while the store does nothing wrong.
  var current: StoreFaults { faults.locked { $0 } }

  /// Called at the start, and in the body of the write that saves them.
  func set(_ value: StoreFaults) { faults.locked { $0 = value } }

  /// Returns the time that receipts and answers state. It is `skew` seconds from `now`, which may be
  /// negative.
  func statedTime(_ now: Timestamp) -> Timestamp { now + .seconds(current.skew ?? 0) }
}

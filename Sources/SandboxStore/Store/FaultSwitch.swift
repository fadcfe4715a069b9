import CoreTypes
import PullboxAPI
import Synchronization

/// The faults that the store shows on purpose, until they are set otherwise. They are kept over a restart.
final class FaultSwitch: Sendable {
  private let faults = Mutex(StoreFaults())

  var current: StoreFaults { faults.withLock { $0 } }

  func set(_ value: StoreFaults) { faults.withLock { $0 = value } }

  /// Returns the time that receipts and answers state.
  func statedTime(_ now: Timestamp) -> Timestamp { now + .seconds(current.skew ?? 0) }
}

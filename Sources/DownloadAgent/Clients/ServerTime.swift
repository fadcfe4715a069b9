import CoreTypes
import Synchronization

/// The delivery server's clock as this device knows it: its own, and what it is off by. A device's clock may be wrong by a
/// day or by years; what it signs is for the server's time.
final class ServerTime: Sendable {
  private let clock: any WallClock
  private let offset = Mutex(Duration.zero)

  init(clock: any WallClock) {
    self.clock = clock
  }

  var now: Timestamp { clock.now() + offset.withLock { $0 } }

  /// The server says that it is `time` there now. Kept until this process ends.
  func correct(to time: Timestamp) {
    let difference = time - clock.now()
    offset.withLock { $0 = difference }
  }
}

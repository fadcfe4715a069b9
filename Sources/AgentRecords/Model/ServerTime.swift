package import CoreTypes
import Synchronization

/// The delivery server's clock as this device knows it: its own, and what it is off by. A device's clock may be wrong by a
/// day or by years; what it signs is for the server's time.
package final class ServerTime: Sendable {
  /// This device's own clock.
  private let clock: any WallClock
  /// The server's time less this device's, as far as it is known.
  private let offset: Mutex<Duration>
  /// Keeps an offset for later processes; called at each correction.
  private let save: @Sendable (Duration) async -> Void

  /// `offset` is what an earlier process learned; `save` keeps what this one learns for the next.
  package init(
    clock: any WallClock, offset: Duration = .zero,
    save: @escaping @Sendable (Duration) async -> Void = { _ in }
  ) {
    self.clock = clock
    self.offset = Mutex(offset)
    self.save = save
  }

  /// The time of this device's clock.
  package var own: Timestamp { clock.now() }

  /// The server's time, as far as it is known.
  package var now: Timestamp { clock.now() + offset.locked { $0 } }

  /// The server says that it is `time` there now. It counts before it is saved. The time that the answer took
  /// is the error.
  package func correct(to time: Timestamp) async {
    let difference = time - clock.now()
    offset.locked { $0 = difference }
    await save(difference)
  }
}

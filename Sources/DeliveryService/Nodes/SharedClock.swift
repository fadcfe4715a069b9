import CoreTypes
import ServiceRuntime
import Synchronization

/// The clock of the database that nodes share, as this node knows it: what the database said last, moved on by the monotonic clock. So
/// leases are judged alike by all nodes, also by one whose wall clock is set.
final class SharedClock: WallClock {
  /// By how much a node's wall clock may differ: a node whose clock differs more answers no client, since tickets and subscriptions go by it.
  static let tolerance: Duration = .seconds(5)

  private let timer: any MonotonicClock
  private let heard: Mutex<(time: Timestamp, at: MonotonicInstant)>

  /// The database said `time` at this moment.
  init(at time: Timestamp, timer: any MonotonicClock) {
    self.timer = timer
    heard = Mutex((time, timer.now()))
  }

  func now() -> Timestamp {
    let (time, at) = heard.locked { $0 }
    return time + (timer.now() - at)
  }

  /// Takes in what the database has said, asked at `asked` and answered now: at some moment between the two.
  func hear(_ time: Timestamp, askedAt asked: MonotonicInstant) {
    let now = timer.now()
    heard.locked { $0 = (time + (now - asked) / 2, now) }
  }

  /// By how much `clock` is ahead; negative where it is behind.
  func difference(of clock: any WallClock) -> Duration { clock.now() - now() }
}

internal import CoreTypes
internal import Glibc
internal import Synchronization

/// The rate at which a ``PackageProxy`` lets responses pass. Relays ask here before they send.
final class ProxyPace: Sendable {
  /// The rate and what is promised of it.
  private struct State {
    /// Bytes a second; nil for no bound.
    var rate: Int64?
    /// When the next byte may pass, in nanoseconds of the clock.
    var next: UInt64 = 0
  }

  /// Shared by the relays.
  private let state = Mutex(State())

  /// Sets the rate; what waits already waits for its own time.
  func setRate(_ rate: ByteCount?) {
    state.withLock { state in
      state.rate = rate.map { max(1, $0.rawValue) }
      state.next = 0
    }
  }

  /// Bytes that are read at once: about a twentieth of a second's, so that no relay waits long.
  var chunk: Int {
    state.withLock { state in
      guard let rate = state.rate else { return 65_536 }
      return Int(min(65_536, max(256, rate / 20)))
    }
  }

  /// Blocks until that many bytes may pass.
  func wait(for count: Int) {
    let now = SystemMonotonicClock().now().nanoseconds
    let start = state.withLock { state -> UInt64 in
      guard let rate = state.rate else { return now }
      let start = max(now, state.next)
      state.next = start + UInt64(count) * 1_000_000_000 / UInt64(rate)
      return start
    }
    guard start > now else { return }
    var rest = timespec(
      tv_sec: Int((start - now) / 1_000_000_000), tv_nsec: Int((start - now) % 1_000_000_000))
    var request = rest
    while unsafe nanosleep(&request, &rest) == -1, errno == EINTR { request = rest }
  }
}

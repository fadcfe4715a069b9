import CoreTypes
import HTTPClient
import PullboxAPI
import ServiceAPI
import Synchronization

/// Receives the answer to one probe: compares the bytes with the diagnostic content as they come, keeps the first ones, and
/// stops when it has enough. With an allowance it takes no more than that until ``raise(by:)``.
final class ProbeReceiver: TransferReceiver {
  /// The part of the response that was received. `isStopped` tells that the limit ended the transfer, which
  /// is no failure.
  struct Received: Sendable {
    var head: ResponseHead?
    var length: Int64 = 0
    var firstWrongByte: Int64?
    var beginning: [UInt8] = []
    /// Nil before the body begins.
    var firstByte: MonotonicInstant?
    var isStopped = false
  }

  private struct State {
    var received = Received()
    /// Where in the content the body begins.
    var offset: Int64 = 0
    /// Bytes of the body that may come until more is allowed.
    var allowance: Int64
    var handle: TransferHandle?
  }

  /// Enough for a report, and for a problem document.
  private static let beginningLength = 16 << 10
  /// Far beyond any content, and so far from the end of the numbers that sums with it have room.
  private static let farthestPlace: Int64 = 1 << 60

  /// Bytes of the body after which the transfer is stopped.
  private let limit: Int64
  private let timer: any MonotonicClock
  private let state: Mutex<State>

  /// `allowance` is what may come before ``raise(by:)``, in bytes.
  init(limit: ByteCount, allowance: Int64 = .max, timer: any MonotonicClock) {
    self.limit = limit.rawValue
    self.timer = timer
    state = Mutex(State(allowance: allowance))
  }

  /// May be asked at any time; it is complete once the transfer has ended.
  var received: Received { state.locked { $0.received } }

  func start(_ handle: TransferHandle) {
    state.locked { $0.handle = handle }
  }

  /// Every response is taken, a refusal as well, since its body says why.
  func receive(head: ResponseHead) -> HeadDecision {
    state.locked { state in
      state.received.head = head
      // A place that no content has is the proxy's invention: its bytes are compared as if there were none.
      let place = head.status == 206 ? head.contentRange?.range?.lowerBound ?? 0 : 0
      state.offset = place <= Self.farthestPlace ? place : 0
    }
    return .accept
  }

  /// Pauses without taking a byte where the allowance is used up; the same bytes come again then.
  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    let now = timer.now()
    return state.locked { state in
      guard state.received.length < limit else {
        state.received.isStopped = true
        return .stop
      }
      guard state.received.length + Int64(bytes.count) <= state.allowance else { return .pause }
      if state.received.firstByte == nil { state.received.firstByte = now }
      let offset = state.offset + state.received.length
      if state.received.firstWrongByte == nil, !DiagnosticContent.matches(bytes, at: offset) {
        let right = DiagnosticContent.bytes(in: offset..<offset + Int64(bytes.count))
        state.received.firstWrongByte = offset + Int64(right.indices.first { right[$0] != bytes[$0] } ?? 0)
      }
      let room = Self.beginningLength - state.received.beginning.count
      for index in 0..<max(0, min(room, bytes.count)) { state.received.beginning.append(bytes[index]) }
      state.received.length += Int64(bytes.count)
      return .consumed
    }
  }

  /// Lets more bytes come.
  func raise(by count: Int64) {
    let handle = state.locked { state in
      state.allowance =
        state.allowance.addingReportingOverflow(count).overflow ? .max : state.allowance + count
      return state.handle
    }
    handle?.resume()
  }
}

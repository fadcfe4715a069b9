import HTTPClient
import ServiceRuntime
import Synchronization

/// Keeps what it gets, and does with it what a test wants.
final class RecordingReceiver: TransferReceiver {
  private struct State {
    var bytes: [UInt8] = []
    var head: ResponseHead?
    var handle: TransferHandle?
    var calls = 0
    var pauses = 0
  }

  private let state = Mutex(State())
  private let decision: HeadDecision
  private let decide: @Sendable (Int) -> BodyDecision
  /// Happens with the first byte that is consumed.
  let firstByte = Event()
  /// Happens with the head.
  let headSeen = Event()

  /// `decide` gets the number of the call, from 1.
  init(
    _ decision: HeadDecision = .accept,
    decide: @escaping @Sendable (Int) -> BodyDecision = { _ in .consumed }
  ) {
    self.decision = decision
    self.decide = decide
  }

  var bytes: [UInt8] { state.withLock { $0.bytes } }
  var text: String { String(decoding: bytes, as: UTF8.self) }
  var head: ResponseHead? { state.withLock { $0.head } }
  var handle: TransferHandle? { state.withLock { $0.handle } }
  var pauses: Int { state.withLock { $0.pauses } }

  func start(_ handle: TransferHandle) {
    state.withLock { $0.handle = handle }
  }

  func receive(head: ResponseHead) -> HeadDecision {
    state.withLock { $0.head = head }
    headSeen.happen()
    return decision
  }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    let decision = state.withLock { state in
      state.calls += 1
      let decision = decide(state.calls)
      if decision == .pause { state.pauses += 1 }
      if decision == .consumed {
        unsafe bytes.withUnsafeBufferPointer { unsafe state.bytes.append(contentsOf: $0) }
      }
      return decision
    }
    if decision == .consumed { firstByte.happen() }
    if decision == .pause { pausing?() }
    return decision
  }

  /// Called, on the client's thread, after a pause was decided and before the client knows of it.
  private let onPause = Mutex<(@Sendable () -> Void)?>(nil)
  var pausing: (@Sendable () -> Void)? {
    get { onPause.withLock { $0 } }
    set { onPause.withLock { $0 = newValue } }
  }
}

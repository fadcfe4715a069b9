import AgentRecords
package import CoreTypes
import HTTPClient
import PullboxAPI
package import PullboxAPIClient
package import ServiceRuntime
import Synchronization

/// A gate that all calls to one service pass. While something else answers in the service's place, only probes go out,
/// and every other call fails at once with the error of the last probe; ``NetworkCondition`` decides. A kind of request
/// that the service has asked not to be sent for a while fails at once, too; see ``ServiceWishes``.
package final class NetworkGate: Sendable {
  /// The pauses between probes: 1 s, doubled up to 2 minutes, so that an hour behind a log-in page costs some forty
  /// requests.
  package static let standardBackoff = Backoff(
    initial: .seconds(1), factor: 2, cap: .seconds(120), jitter: 0.2)
  /// While the machine says that it has no network, one call in so long goes out none the less: what it says may be wrong.
  package static let standardDoubt: Duration = .seconds(120)

  /// A call that may be made.
  package struct Admission: Hashable, Sendable {
    /// Whether it tells for all others how the way is.
    package fileprivate(set) var isProbe: Bool
    /// The number of the probe; zero for every other call.
    fileprivate var probe: UInt64 = 0
    /// Whether it goes out against the machine's word.
    fileprivate var isDoubt = false
    /// The number of the machine's last word at that moment: its answer says nothing of a later word.
    fileprivate let word: UInt64
  }

  private struct State {
    package var condition = NetworkCondition()
    var wishes: ServiceWishes
    /// The last answer of something in the service's place; nil while the way is open.
    package var lastError: APICallError?
    /// Why no request is made at all; nil where the machine has a way.
    var absence: String?
    /// When a call may go out during the absence; nil for none.
    var doubtDue: MonotonicInstant?
    /// How many probes went out; the last one has that number.
    var probes: UInt64 = 0
    /// Whether the last probe is waited for.
    var hasProbe = false
    /// Calls in a row that were given up while others waited for their end.
    var givenUp = 0
    /// The number of the machine's last word about the way.
    var word: UInt64 = 0
    /// That of the absence.
    var absenceWord: UInt64 = 0
    /// That of the word that something else answers in all services' places; nil where the machine does not say so.
    var portalWord: UInt64?
    /// Whether the service was heard against the machine's word, which no one has heard of yet.
    var isDisproved = false
    package var openings = 0
    var listeners: [AsyncSignal] = []

    /// The call is over. Whether it was the probe that all others wait for: one that another has replaced is none.
    mutating func endProbe(_ call: Admission) -> Bool {
      guard call.isProbe, hasProbe, call.probe == probes else { return false }
      hasProbe = false
      return true
    }

    /// The call was answered, by whatever it was. Whether that ends an absence.
    mutating func disproveAbsence(by call: Admission) -> Bool {
      guard absence != nil, doubtDue != nil, call.word >= absenceWord else { return false }
      (absence, doubtDue, isDisproved) = (nil, nil, true)
      return true
    }

    /// The service itself has answered the call. Whether that ends a portal.
    mutating func disprovePortal(by call: Admission) -> Bool {
      guard let portalWord, call.word >= portalWord else { return false }
      (self.portalWord, isDisproved) = (nil, true)
      return true
    }
  }

  private let state: Mutex<State>
  private let clock: any MonotonicClock
  private let backoff: Backoff
  private let doubt: Duration

  /// `longestWish` is for how long a service is left alone at most, whatever it asks for; `doubt` is how long an absence is believed before
  /// a call goes out, and between two such calls.
  package init(
    clock: any MonotonicClock = SystemMonotonicClock(), backoff: Backoff = standardBackoff,
    longestWish: Duration = RetryPolicy().longestRequestedDelay, doubt: Duration = standardDoubt
  ) {
    state = Mutex(State(wishes: ServiceWishes(longest: longestWish)))
    self.clock = clock
    self.backoff = backoff
    self.doubt = doubt
  }

  /// How often it was opened: a loop that sees another number than before tries again what waits for
  /// ``StatusReason/networkNotOpen``.
  package var openings: Int { state.locked { $0.openings } }

  /// Whether calls go out without being probes.
  package var isOpen: Bool { state.locked { $0.condition.isOpen } }

  /// `signal` is given whenever the way opens. The gate keeps it for its own life.
  package func signalOpenings(to signal: AsyncSignal) {
    state.locked { $0.listeners.append(signal) }
  }

  /// While there is an absence every call fails with its sentence, and no request is made: but for one in two minutes where the absence is
  /// `doubtful`. Its answer ends the absence, as `nil` does, and ``takeDisproof()`` tells. That of a call of before ends none. Its end wakes what
  /// waits.
  package func setAbsence(_ absence: String?, doubtful: Bool = false) {
    let now = clock.now()
    let ended = state.locked { state -> [AsyncSignal] in
      let was = state.absence
      if was != absence {
        state.word += 1
        state.absenceWord = state.word
      }
      state.absence = absence
      state.doubtDue = absence != nil && doubtful ? state.doubtDue ?? now + doubt : nil
      guard was != nil, absence == nil else { return [] }
      state.openings += 1
      return state.listeners
    }
    for listener in ended { listener.signal() }
  }

  /// Whether a call was answered against the machine's word since the last question.
  package func takeDisproof() -> Bool {
    state.locked { state in
      defer { state.isDisproved = false }
      return state.isDisproved
    }
  }

  /// While the machine says that the network wants a log-in, calls go out as ever, and an answer of the service itself to one of them
  /// disproves that, as ``takeDisproof()`` tells. That to a call of before says nothing of it.
  package func setPortal(_ isTold: Bool) {
    state.locked { state in
      guard isTold != (state.portalWord != nil) else { return }
      state.word += 1
      state.portalWord = isTold ? state.word : nil
    }
  }

  /// The machine has another way than before: what waits for the way is tried at once, and so is a probe.
  package func tryAgain() {
    let now = clock.now()
    let listeners = state.locked { state -> [AsyncSignal] in
      state.condition.hurry(at: now)
      state.openings += 1
      return state.listeners
    }
    for listener in listeners { listener.signal() }
  }

  /// Throws what the service has said to requests of that kind, for as long as it wants none.
  package func checkWishes(about request: String) throws(APICallError) {
    let now = clock.now()
    if let refusal = state.locked({ $0.wishes.refusal(of: request, at: now) }) { throw refusal }
  }

  /// Makes one call, or throws what the last probe met, with the time to the next one as its `retryAfter`. `request` is the kind of
  /// request for which a wish of the service counts. It never waits for the way to open.
  ///
  /// - Parameter isOptional: the caller waits for a moment only: that no answer came in this time says nothing.
  package func pass<Value: Sendable>(
    _ request: String, isOptional: Bool = false, _ call: () async throws(APICallError) -> Value
  ) async throws(APICallError) -> Value {
    try await pass(request, isWaiting: false, isOptional: isOptional, call)
  }

  /// Makes a call that waits at the service for long, or throws as ``pass(_:_:)`` does. Its error says nothing of the way, since what
  /// lies between may end what is silent for so long; a refusal of the service itself counts as ever. It is no probe.
  package func passWaiting<Value: Sendable>(
    _ request: String, _ call: () async throws(APICallError) -> Value
  ) async throws(APICallError) -> Value {
    let (isOpen, error) = state.locked { ($0.absence == nil && $0.condition.isOpen, $0.lastError) }
    guard isOpen else { throw Self.held(by: error, for: .zero) }
    return try await pass(request, isWaiting: true, isOptional: false, call)
  }

  private func pass<Value: Sendable>(
    _ request: String, isWaiting: Bool, isOptional: Bool, _ call: () async throws(APICallError) -> Value
  ) async throws(APICallError) -> Value {
    let admission = try admit()
    do {
      let value = try await call()
      noteAnswer(to: admission)
      return value
    } catch {
      if isWaiting, !admission.isProbe, error.isForeign || error.isUnreachable { throw error }
      if isOptional, error.hasCode(.timedOut) {
        giveUp(admission)
        throw error
      }
      note(error, to: admission)
      let now = clock.now()
      state.locked { $0.wishes.note(error, to: request, at: now) }
      throw error
    }
  }

  /// Admits the call that is about to be made; for calls that ``pass(_:)`` cannot hold. Throws as it does. The caller tells how the call
  /// ended: ``noteAnswer(to:)``, ``note(_:to:)`` or ``giveUp(_:)``.
  func admit() throws(APICallError) -> Admission {
    let now = clock.now()
    let (admission, error, absence, call) = state.locked { state in
      var call = Admission(isProbe: false, word: state.word)
      if let absence = state.absence {
        guard let due = state.doubtDue, due <= now else {
          return (NetworkCondition.Admission.open, state.lastError, Optional(absence), call)
        }
        state.doubtDue = now + doubt
        call.isDoubt = true
        // Where the way is closed besides, the call is its probe as well.
        state.condition.hurry(at: now)
      }
      let admission = state.condition.admit(at: now)
      if admission == .probe {
        state.probes += 1
        state.hasProbe = true
        (call.isProbe, call.probe) = (true, state.probes)
      }
      return (admission, state.lastError, nil, call)
    }
    if let absence {
      throw .unreachable(HTTPClientError(code: .noNetwork, message: absence, isRetryable: true))
    }
    switch admission {
    case .open, .probe: return call
    case .held(let rest): throw Self.held(by: error, for: rest)
    }
  }

  /// The service itself answered the call. Where that opens the way, the listeners are signaled.
  func noteAnswer(to call: Admission) {
    let listeners = state.locked { state -> [AsyncSignal] in
      let isPortalDisproved = state.disprovePortal(by: call)
      let isDisproved = state.disproveAbsence(by: call) || isPortalDisproved
      (state.hasProbe, state.givenUp) = (false, 0)
      guard state.condition.succeed() || isDisproved else { return [] }
      state.openings += 1
      state.lastError = nil
      return state.listeners
    }
    for listener in listeners { listener.signal() }
  }

  /// The call ended so. A service that is not reached says nothing about the way, unless the call was a probe: then it is
  /// closed still. An answer of something else closes the way at once, for the longer of the backoff and the
  /// pause that it asks for. A call that was cancelled was given up (``giveUp(_:)``).
  package func note(_ error: APICallError, to call: Admission) {
    guard !error.hasCode(.cancelled) else { return giveUp(call) }
    guard error.isForeign || error.isUnreachable else { return noteAnswer(to: call) }
    let now = clock.now()
    let requested = error.isForeign ? error.pauseForAll : nil
    let listeners = state.locked { state -> [AsyncSignal] in
      let wasProbe = state.endProbe(call)
      guard error.isForeign || wasProbe else { return [] }
      state.givenUp = 0
      if error.isForeign { state.lastError = error }
      state.condition.fail(wasProbe: wasProbe, at: now) {
        max(backoff.delay(afterFailures: $0), requested ?? .zero)
      }
      // Something answers: there is a network.
      guard error.isForeign, state.disproveAbsence(by: call) else { return [] }
      return state.listeners
    }
    for listener in listeners { listener.signal() }
  }

  /// This side ended the call before its answer: that says nothing of the way. Where others waited for it, another one goes out after a
  /// pause; such pauses grow by themselves, from the first one on.
  func giveUp(_ call: Admission) {
    let now = clock.now()
    state.locked { state in
      let isDoubt = call.isDoubt && call.word >= state.absenceWord
      guard state.endProbe(call) || isDoubt else { return }
      state.givenUp += 1
      let next = now + backoff.delay(afterFailures: state.givenUp)
      state.condition.hurry(at: next)
      if isDoubt { state.doubtDue = state.doubtDue.map { min($0, next) } }
    }
  }

  /// The last error; one that can carry a time gets that to the next probe. Without an error the status is
  /// 511 (RFC 6585 section 6).
  private static func held(by error: APICallError?, for rest: Duration) -> APICallError {
    switch error {
    case .unexpectedResponse(let status, let detail, _, let isPage):
      .unexpectedResponse(status: status, detail: detail, retryAfter: rest, isPage: isPage)
    case .some(let error): error
    case nil: .unexpectedResponse(status: 511, detail: "the network is not open", retryAfter: rest)
    }
  }
}

extension APICallError {
  /// A proxy that says it is busy, and until when, speaks to every call; a log-in page may be gone any moment.
  fileprivate var pauseForAll: Duration? {
    switch self {
    case .unexpectedResponse(500..., _, let retryAfter, _): retryAfter
    case .problem(let problem) where problem.status >= 500:
      problem.retryAfterSeconds.map { .seconds(RetryAfter.obeyedSeconds(clamping: $0)) }
    default: nil
    }
  }

  fileprivate var isUnreachable: Bool {
    if case .unreachable = self { return true }
    return false
  }

  fileprivate func hasCode(_ code: HTTPClientError.Code) -> Bool {
    if case .unreachable(let error) = self { return error.code == code }
    return false
  }
}

import ContentLibrary
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Synchronization

/// Remembers how the last call to a service went, for `GET /v1/status`, and holds calls back while something else
/// answers in its place.
final class EndpointHealth: Sendable {
  /// The status behind its lock.
  private let state: Mutex<AgentStatus.Peer>
  /// The clock of the times in the status.
  private let clock: any WallClock

  /// Calls that show a proof of purchases: what the service says of the store that proofs name, no other call can take back.
  private static let callsWithProof: Set<String> = ["POST /v1/entitlements", "POST /v1/grants"]

  /// The gate that every call passes.
  let network: NetworkGate

  /// The health of a service that was not asked yet: whether it can be reached is not known.
  init(url: String, clock: any WallClock, network: NetworkGate = NetworkGate()) {
    self.network = network
    state = Mutex(AgentStatus.Peer(url: url))
    self.clock = clock
  }

  /// All members as they are at one moment.
  var status: AgentStatus.Peer { state.locked { $0 } }

  /// Runs one call, which `request` names. A refusal by the service itself is an answer: it was reached.
  /// Throws the service's earlier refusal without asking while it wants to be left alone with such requests,
  /// and what the last probe met while something else answers in its place (``NetworkGate``).
  ///
  /// - Parameters:
  ///   - request: method and route, without identifiers.
  ///   - isOptional: the caller waits for a moment only, and goes on without an answer. That none came in this time is no sign
  ///     that the service cannot be reached.
  func observe<Value: Sendable>(
    _ request: String, isOptional: Bool = false, _ call: () async throws(APICallError) -> Value
  ) async throws(APICallError) -> Value {
    try network.checkWishes(about: request)
    do {
      let value = try await network.pass(request, isOptional: isOptional, call)
      note(nil, to: request)
      return value
    } catch {
      if !isOptional || !error.has(.timedOut) { note(error, to: request) }
      throw error
    }
  }

  /// The same for a call that waits at the service for long: where something between ends it, that says nothing of the service.
  func observeWaiting<Value: Sendable>(
    _ request: String, _ call: () async throws(APICallError) -> Value
  ) async throws(APICallError) -> Value {
    try network.checkWishes(about: request)
    do {
      let value = try await network.passWaiting(request, call)
      note(nil, to: request)
      return value
    } catch {
      if case .problem(let problem) = error, problem.status < 500 { note(error, to: request) }
      throw error
    }
  }

  /// A call that ``observe(_:_:)`` cannot run ended so; nil for well. A status of 500 or more counts as
  /// unreachable. A 401 and an unknown store are kept as refusals until an answer takes them back. A call that this side gave
  /// up, since its reader hung up for example, says nothing of the service.
  func note(_ error: APICallError?, to request: String) {
    if let error, error.has(.cancelled) { return }
    let now = clock.now()
    state.locked { state in
      // Where no network is there, nothing was asked.
      if error?.has(.noNetwork) != true {
        state.lastRequest = request
        state.lastAsked = now
      }
      switch error {
      case .problem(let problem) where problem.status < 500:
        state.reachable = true
        state.lastSuccess = now
        state.lastError = nil
        if problem.status == 401 || problem.code == .storeUnknown { state.refusal = problem }
      case .some(let error):
        state.reachable = false
        state.lastError = error.description
      case nil:
        state.reachable = true
        state.lastSuccess = now
        state.lastError = nil
        if state.refusal?.code != .storeUnknown || Self.callsWithProof.contains(request) {
          state.refusal = nil
        }
      }
    }
  }
}

extension APICallError {
  /// Whether no answer came, for that reason.
  fileprivate func has(_ code: HTTPClientError.Code) -> Bool {
    if case .unreachable(let cause) = self { cause.code == code } else { false }
  }
}

import CoreTypes
import PullboxAPI
import PullboxAPIClient
import Synchronization

/// Remembers how the last call to a service went, for `GET /v1/status`, and holds calls back while something else
/// answers in its place.
final class EndpointHealth: Sendable {
  private let state: Mutex<AgentStatus.Peer>
  private let clock: any WallClock

  /// What every call passes.
  let network: NetworkGate

  init(url: String, clock: any WallClock, network: NetworkGate = NetworkGate()) {
    self.network = network
    state = Mutex(AgentStatus.Peer(url: url))
    self.clock = clock
  }

  var status: AgentStatus.Peer { state.withLock { $0 } }

  /// Runs one call. A refusal by the service itself is an answer: it was reached.
  func observe<Value: Sendable>(
    _ call: () async throws(APICallError) -> Value
  ) async throws(APICallError) -> Value {
    do {
      let value = try await network.pass(call)
      succeeded()
      return value
    } catch {
      if case .problem(let problem) = error, problem.status < 500 {
        succeeded()
      } else {
        failed(error)
      }
      throw error
    }
  }

  private func succeeded() {
    let now = clock.now()
    state.withLock { state in
      state.reachable = true
      state.lastSuccess = now
      state.lastError = nil
    }
  }

  private func failed(_ error: APICallError) {
    state.withLock { state in
      state.reachable = false
      state.lastError = error.description
    }
  }
}

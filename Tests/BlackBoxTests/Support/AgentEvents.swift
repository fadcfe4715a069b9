import HTTPClient
import PullboxAPI
import Synchronization

/// Reads a stream of server-sent events (WHATWG HTML §9.2) as the agent's events.
final class AgentEvents: TransferReceiver {
  private struct State {
    var line: [UInt8] = []
    var name = ""
    var data: [UInt8] = []
  }

  let events: AsyncStream<AgentEvent>
  /// Ends once the agent has answered: from then on every event comes. It also ends where none will come.
  let opened: AsyncStream<Void>
  private let continuation: AsyncStream<AgentEvent>.Continuation
  private let opening: AsyncStream<Void>.Continuation
  private let state = Mutex(State())

  init() {
    (events, continuation) = AsyncStream.makeStream()
    (opened, opening) = AsyncStream.makeStream()
  }

  func finish() {
    continuation.finish()
    opening.finish()
  }

  func receive(head: ResponseHead) -> HeadDecision {
    opening.finish()
    return head.status == 200 ? .accept : .refuse
  }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    state.withLock { state in
      for index in bytes.indices {
        if bytes[index] == 0x0A { take(&state) } else { state.line.append(bytes[index]) }
      }
    }
    return .consumed
  }

  private func take(_ state: inout State) {
    let line = String(decoding: state.line, as: UTF8.self)
    state.line = []
    if line.isEmpty {
      // A name that this version does not know, or data it cannot read, shows as an event that never comes.
      if let event = try? AgentEvent(name: state.name, data: state.data) { continuation.yield(event) }
      state.name = ""
      state.data = []
    } else if line.hasPrefix("event:") {
      state.name = String(line.dropFirst(6).drop { $0 == " " })
    } else if line.hasPrefix("data:") {
      state.data += line.dropFirst(5).drop { $0 == " " }.utf8
    }
  }
}

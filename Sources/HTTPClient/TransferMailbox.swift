import Synchronization

/// Carries commands from any thread to the loop, in order.
final class TransferMailbox: Sendable {
  private enum Phase {
    case open
    /// Nothing more goes in; the loop has still to look.
    case closing
    /// The loop is gone, and the multi handle with it.
    case sealed
  }

  private struct State {
    var commands: [TransferCommand] = []
    var phase = Phase.open
    /// Nil while the loop has none.
    var multi: MultiHandle?
  }

  private let state: Mutex<State>

  init(waking multi: MultiHandle) {
    state = Mutex(State(multi: multi))
  }

  /// From now on `multi` is the one that is woken; nil while there is none.
  func attach(_ multi: MultiHandle?) {
    state.withLock { $0.multi = multi }
  }

  func post(_ command: TransferCommand) {
    let isAccepted = state.withLock { state in
      guard state.phase == .open else { return false }
      // A loop that has commands waiting was woken for the first of them.
      if state.commands.isEmpty { state.multi?.wake() }
      state.commands.append(command)
      return true
    }
    guard !isAccepted else { return }
    switch command {
    case .start(let pending): pending.completion(.failure(Self.shutDownError))
    case .pulse(let completion): completion()
    case .pause, .resume, .cancel: break
    }
  }

  func close() {
    state.withLock { state in
      guard state.phase == .open else { return }
      state.phase = .closing
      state.multi?.wake()
    }
  }

  /// What has come in since the last call. `isClosing` with the last commands there will ever be.
  func collectCommands() -> (commands: [TransferCommand], isClosing: Bool) {
    state.withLock { state in
      defer { state.commands = [] }
      return (state.commands, state.phase != .open)
    }
  }

  /// After this the multi handle is never woken again. Returns the commands that will not run.
  func seal() -> [TransferCommand] {
    state.withLock { state in
      defer { state.commands = [] }
      state.phase = .sealed
      return state.commands
    }
  }

  static let shutDownError = HTTPClientError(code: .shutDown, message: "the HTTP client was shut down")
}

/// What other threads ask of the loop.
enum TransferCommand: Sendable {
  case start(PendingTransfer)
  case pause(TransferToken)
  case resume(TransferToken)
  case cancel(TransferToken)
  /// Called back from the loop's thread, once.
  case pulse(@Sendable () -> Void)
}

/// What the loop is asked to run, and where the result goes. `completion` is called exactly once.
struct PendingTransfer: Sendable {
  let request: ClientRequest
  let receiver: any TransferReceiver
  let handle: TransferHandle
  let completion: @Sendable (Result<TransferSummary, HTTPClientError>) -> Void
}

import CLinux
import Glibc
import Synchronization
import SystemCalls

/// Carries commands from any thread to the loop, in order.
final class TransferMailbox: Sendable {
  private enum Phase {
    case open
    /// Nothing more goes in; the loop has still to look.
    case closing
    /// The loop is gone.
    case sealed
  }

  private struct State {
    var commands: [TransferCommand] = []
    var phase = Phase.open
  }

  private let state = Mutex(State())
  /// Becomes readable with the first command of several.
  let wakeUp: FileDescriptor

  init() throws(HTTPClientError) {
    do {
      wakeUp = FileDescriptor(
        takingOwnershipOf: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    } catch {
      throw HTTPClientError(code: .internalFailure, message: "\(error)")
    }
  }

  func post(_ command: TransferCommand) {
    let (isAccepted, isFirst) = state.withLock { state in
      guard state.phase == .open else { return (false, false) }
      state.commands.append(command)
      return (true, state.commands.count == 1)
    }
    // Not under the lock: the loop takes it at once. A loop that has commands waiting was woken for the first of them.
    if isFirst { wake() }
    guard !isAccepted else { return }
    switch command {
    case .start(let pending): pending.completion(.failure(Self.shutDownError))
    case .pulse(let completion), .disconnect(let completion): completion()
    case .pause, .resume, .cancel: break
    }
  }

  func close() {
    state.withLock { state in if state.phase == .open { state.phase = .closing } }
    wake()
  }

  private func wake() {
    // Fails only where the counter is full, and then the loop is awake anyway.
    _ = eventfd_write(wakeUp.number, 1)
  }

  /// Returns the commands that have come in since the last call. `isClosing` is true with the last commands
  /// there will ever be. `isWoken` is true where ``wakeUp`` has become readable.
  func collectCommands(isWoken: Bool) -> (commands: [TransferCommand], isClosing: Bool) {
    var count: eventfd_t = 0
    if isWoken { _ = unsafe eventfd_read(wakeUp.number, &count) }
    return state.withLock { state in
      defer { state.commands = [] }
      return (state.commands, state.phase != .open)
    }
  }

  /// After this nothing is accepted any more. Returns the commands that will not run.
  func seal() -> [TransferCommand] {
    state.withLock { state in
      defer { state.commands = [] }
      state.phase = .sealed
      return state.commands
    }
  }

  static let shutDownError = HTTPClientError(code: .shutDown, message: "the HTTP client was shut down")
}

/// A command of another thread to the loop.
enum TransferCommand: Sendable {
  case start(PendingTransfer)
  case pause(TransferToken)
  case resume(TransferToken)
  case cancel(TransferToken)
  /// Called back from the loop's thread, once.
  case pulse(@Sendable () -> Void)
  /// Close all connections. Called back from the loop's thread, once.
  case disconnect(@Sendable () -> Void)
}

/// A transfer that the loop is asked to run. Its result goes to `completion`, which is called exactly once.
struct PendingTransfer: Sendable {
  let request: ClientRequest
  let receiver: any TransferReceiver
  let handle: TransferHandle
  let completion: @Sendable (Result<TransferSummary, HTTPClientError>) -> Void
}

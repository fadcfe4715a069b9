import SystemCalls

/// Carries commands from any thread to the loop, in order, and ends those that come too late.
final class TransferMailbox: Sendable {
  let commands: CommandMailbox<TransferCommand>

  init() throws(HTTPClientError) {
    do {
      commands = try CommandMailbox()
    } catch {
      throw HTTPClientError(code: .internalFailure, message: "\(error)")
    }
  }

  func post(_ command: TransferCommand) {
    guard !commands.post(command) else { return }
    switch command {
    case .start(let pending): pending.completion(.failure(Self.shutDownError))
    case .pulse(let completion), .disconnect(let completion): completion()
    case .pause, .resume, .cancel: break
    }
  }

  func close() { commands.close() }

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

import PullboxAPIClient
import ContentPackage
import HTTPClient
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// How a command failed: what the process ends with, and one line (more where there are several faults) that also says
/// what to do about it.
struct CommandFailure: Error {
  var exitCode: ExitCode
  /// Without the program's name; empty when everything was said before.
  var message: String

  init(_ exitCode: ExitCode, _ message: String) {
    self.exitCode = exitCode
    self.message = message
  }

  init(_ error: any Error, context: CommandContext, peer: CommandPeer) {
    self.init(error, server: context.server, agentSocket: context.agentSocket, peer: peer)
  }

  init(_ error: any Error, server: String, agentSocket: String, peer: CommandPeer) {
    switch error {
    case let error as CommandFailure: self = error
    case let error as UsageError: self.init(.usage, error.description)
    case let error as APICallError:
      self.init(ExitCode(error), Self.text(error, server: server, agentSocket: agentSocket, peer: peer))
    case let error as PackageValidationError:
      self.init(ExitCode(error), "the package is refused:\n" + Self.indented(error.faults.map(\.description)))
    case let error as SystemError:
      self.init(error.isOutOfSpace ? .noSpace : .failed, error.description)
    case is CancellationError: self.init(.failed, "interrupted")
    default: self.init(.failed, "\(error)")
    }
  }

  private static func text(
    _ error: APICallError, server: String, agentSocket: String, peer: CommandPeer
  ) -> String {
    switch (error, peer) {
    case (.unreachable(let cause), .agent):
      "no agent answers at \(agentSocket) (\(cause.message)); start pullbox-agent, or name its socket with "
        + "--agent-socket or PULLBOX_AGENT_SOCKET"
    case (.unreachable(let cause), _):
      "no server answers at \(server) (\(cause.message)); start pullbox-server, or name it with --server or "
        + "PULLBOX_SERVER"
    case (.problem(let problem), .server) where problem.code == .unauthorized:
      "\(problem); give the operator's key with --operator-key or PULLBOX_OPERATOR_KEY"
    case (.problem(let problem), .server) where problem.code == .outOfSpace:
      "\(problem); what was sent is kept, and the same command goes on once the server has room"
    case (.problem(let problem), _):
      problem.description + (problem.retryAfterSeconds.map { "; try again in \($0) s" } ?? "")
    case (.unexpectedResponse, .agent): "\(agentSocket) gave \(error)"
    case (.unexpectedResponse, _): "\(server) gave \(error)"
    }
  }

  static func indented(_ lines: [String]) -> String {
    lines.map { "  \($0)" }.joined(separator: "\n")
  }
}

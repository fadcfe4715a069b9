import ServiceRuntime

/// One command of `pullbox`: a type in `Commands/`, listed in ``CommandLineInterface/commands``.
protocol Command: SendableMetatype {
  /// Its name, operands and options, and what `--help` says.
  static var description: CommandDescription { get }
  /// The service it talks to: help names it, and so does the message when the service does not answer.
  static var peer: CommandPeer { get }
  /// Prints its result on standard output, and nothing else there. ``CommandFailure`` turns what it throws into a message
  /// and an exit code.
  static func run(_ context: CommandContext) async throws
}

/// The service that a command talks to.
enum CommandPeer: Sendable {
  /// The delivery server.
  case server
  /// The agent of this device.
  case agent
  /// Both, as far as they are there.
  case serverAndAgent
  /// No service.
  case offline

  /// The common options that mean something for its commands. They are those that its help shows; the parser
  /// takes all.
  var options: [CommandOption] {
    switch self {
    case .server: CommandContext.options + CommandContext.serverOptions
    case .agent: CommandContext.options + CommandContext.agentOptions
    case .serverAndAgent:
      CommandContext.options + CommandContext.serverOptions + CommandContext.agentOptions
    case .offline: CommandContext.options
    }
  }

  /// A paragraph of the command's help.
  var explanation: String {
    switch self {
    case .server: "The command talks to the delivery server (--server, --operator-key)."
    case .agent: "The command talks to this device's agent (--agent-socket)."
    case .serverAndAgent:
      "The command talks to the delivery server (--server, --operator-key) and to this device's agent (--agent-socket)."
    case .offline: "The command talks to no service."
    }
  }
}

import Commerce
import HTTPClient
import PullboxAPIClient
import PullboxKit
import ServiceRuntime

/// What a command runs with: its arguments, the console, and clients of the services that the options name.
///
/// ```swift
/// static func run(_ context: CommandContext) async throws {
///   let product = try context.product(0)
///   let record = try await context.patientClient().cancelRelease(of: product, version: try context.version(1))
///   try VersionsCommand.report(record, on: context.console)
/// }
/// ```
struct CommandContext: Sendable {
  static let defaultServer = "http://127.0.0.1:8080"
  static let defaultPatience = "60s"

  /// The options of every command.
  static let options: [CommandOption] = [
    .value(
      "server", "URL", fallback: defaultServer,
      help: "Address of the delivery server, for commands of publishers and operators"),
    .value(
      "ca-file", "FILE",
      help:
        "PEM file of the authorities whose certificates count for the delivery server; the system's unless given"
    ),
    .value("operator-key", "KEY", help: "Operator key that the delivery server knows"),
    .value(
      "patience", "DURATION", fallback: defaultPatience,
      help:
        "How long a command that changes something waits for a delivery server that does not answer, such as one that restarts"
    ),
    .value(
      "agent-socket", "PATH",
      help:
        "Unix socket of this device's agent, for commands of its user; the user's own below XDG_RUNTIME_DIR, else /run/pullbox/agent.sock"
    ),
    .value(
      "store", "URL",
      help: "Payment store that the agent should use; status warns if the agent uses another one"),
    .flag("json", environment: .none, help: "Print JSON, one object per line"),
  ]

  let arguments: ParsedArguments
  let console: Console

  init(arguments: ParsedArguments) {
    self.arguments = arguments
    console = Console(printsJSON: arguments.isSet("json"))
  }

  var server: String { arguments.value("server") ?? Self.defaultServer }

  /// Refuses values of the common options that no command could use, also where this one does not.
  func check() throws(UsageError) {
    _ = try patience()
    if arguments.value("agent-socket")?.isEmpty == true {
      throw UsageError("--agent-socket takes the path of a socket")
    }
  }

  private func patience() throws(UsageError) -> Duration {
    let text = arguments.value("patience") ?? Self.defaultPatience
    guard let limit = ConfigurationDuration(text)?.duration else {
      throw UsageError("--patience takes a duration such as 90s or 5m, not '\(text)'")
    }
    return limit
  }

  var agentSocket: String { arguments.value("agent-socket") ?? AgentClient.defaultSocketPath }

  func agent() throws -> AgentClient { try AgentClient(socketPath: agentSocket) }

  /// A client for commands that change something at the server: while the server does not answer, it retries for as long as
  /// `--patience` says, and says so once on standard error.
  func patientClient() throws -> OperatorClient {
    var client = try operatorClient()
    let limit = try patience()
    let (server, on:console) = (server, on: console)
    client.unavailabilityRetry = UnavailabilityRetry(limit: limit) { error in
      let cause = if case .unreachable(let cause) = error { cause.message } else { error.description }
      console.note(
        "the server at \(server) does not answer (\(cause)); waiting up to \(DurationText.short(limit)) for it"
      )
    }
    return client
  }

  func operatorClient() throws -> OperatorClient {
    guard server.hasPrefix("http://") || server.hasPrefix("https://") else {
      throw UsageError(
        "--server takes an address such as \(Self.defaultServer), not '\(server)'")
    }
    return try OperatorClient(
      server: server, key: arguments.value("operator-key"),
      certificateAuthorityFile: arguments.value("ca-file"))
  }

  /// The operand at `index`, from 0. Throws without one.
  func operand(_ index: Int) throws(UsageError) -> String {
    guard arguments.operands.indices.contains(index) else { throw UsageError("an operand is missing") }
    return arguments.operands[index]
  }

  func product(_ index: Int) throws(UsageError) -> ProductIdentifier {
    try Self.product(try operand(index))
  }

  func version(_ index: Int) throws(UsageError) -> ContentVersion {
    try Self.version(try operand(index))
  }

  static func product(_ text: String) throws(UsageError) -> ProductIdentifier {
    guard let product = ProductIdentifier(text) else {
      throw UsageError(
        "'\(text)' is not a product identifier: 1 to 255 of A-Z a-z 0-9 . _ -, not starting with a dot")
    }
    return product
  }

  static func version(_ text: String) throws(UsageError) -> ContentVersion {
    guard let version = ContentVersion(text) else {
      throw UsageError("'\(text)' is not a version: dotted whole numbers, such as 1.10")
    }
    return version
  }
}

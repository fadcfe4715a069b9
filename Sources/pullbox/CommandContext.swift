import PullboxAPIClient
import Commerce
import HTTPClient
import PullboxKit
import ServiceRuntime

/// What a command works with.
struct CommandContext: Sendable {
  let arguments: ParsedArguments
  let console: Console

  init(arguments: ParsedArguments) {
    self.arguments = arguments
    console = Console(printsJSON: arguments.isSet("json"))
  }

  var server: String { arguments.value("server") ?? CommandLineInterface.defaultServer }
  var agentSocket: String { arguments.value("agent-socket") ?? CommandLineInterface.defaultAgentSocket }

  func agent() throws -> AgentClient { try AgentClient(socketPath: agentSocket) }

  /// For what changes something at the server: it waits for one that is away for as long as `--patience` says, and tells so.
  func patientClient() throws -> OperatorClient {
    var client = try operatorClient()
    let text = arguments.value("patience") ?? CommandLineInterface.defaultPatience
    guard let limit = ConfigurationDuration(text)?.duration else {
      throw UsageError("--patience takes a duration such as 90s or 5m, not '\(text)'")
    }
    let (server, console) = (server, console)
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
        "--server takes an address such as \(CommandLineInterface.defaultServer), not '\(server)'")
    }
    return try OperatorClient(server: server, key: arguments.value("operator-key"))
  }

  /// The operand at `index`, which the description requires.
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
        "'\(text)' is no product identifier: 1 to 255 of A-Z a-z 0-9 . _ -, not starting with a dot")
    }
    return product
  }

  static func version(_ text: String) throws(UsageError) -> ContentVersion {
    guard let version = ContentVersion(text) else {
      throw UsageError("'\(text)' is no version: dotted whole numbers, such as 1.10")
    }
    return version
  }
}

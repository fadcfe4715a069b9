import Commerce
import CoreTypes
import HTTPClient
import PullboxAPIClient
import PullboxKit
import PullboxOperatorKit
import ServiceRuntime

/// The context of a command: its arguments, the console, and clients of the services that the options name.
///
/// ```swift
/// static func run(_ context: CommandContext) async throws {
///   let product = try context.product(0)
///   let record = try await context.patientClient().cancelRelease(of: product, version: try context.version(1))
///   try VersionsCommand.report(record, on: context.console)
/// }
/// ```
struct CommandContext: Sendable {
  /// The server where `--server` and `PULLBOX_SERVER` name none.
  static let defaultServer = "http://127.0.0.1:8080"
  /// How long changes wait for a server that is away, unless `--patience` says otherwise.
  static let defaultPatience = "60s"

  /// The options of every command.
  static let options: [CommandOption] = [
    .flag("json", environment: .none, help: "Print JSON, one object per line"),
    .flag(
      "quiet", abbreviation: "q", environment: .none,
      help: "Print results and errors only: no progress, no remarks"),
    .flag(
      "verbose", abbreviation: "v", environment: .none,
      help: "Print on standard error what is asked of services, and how long the answers took"),
    CommandOption.value(
      "color", "WHEN", environment: .none, fallback: "auto",
      help: "Colors: auto (on a terminal, unless NO_COLOR is set), always or never"
    ).taking(.words(ColorChoice.allCases.map(\.rawValue))),
  ]

  /// The options of commands for publishers and operators.
  static let serverOptions: [CommandOption] = [
    .value("server", "URL", fallback: defaultServer, help: "Address of the delivery server"),
    .value(
      "ca-file", "FILE",
      help:
        "PEM file of the authorities whose certificates count for the delivery server; the system's unless given"
    ),
    CommandOption.value("operator-key", "KEY", help: "Operator key that the delivery server knows").secret(),
    .value(
      "patience", "DURATION", fallback: defaultPatience,
      help:
        "How long a command that changes something waits for a delivery server that does not answer, such as one that restarts"
    ),
  ]

  /// The options of commands for a device's user.
  static let agentOptions: [CommandOption] = [
    .value(
      "agent-socket", "PATH",
      help:
        "Unix socket of this device's agent; the user's own below XDG_RUNTIME_DIR, else /run/pullbox/agent.sock"
    ),
    .value(
      "store", "URL",
      help: "Payment store that the agent should use; status warns if the agent uses another one"),
  ]

  /// The command's own options and the common ones; the parser has checked their names, and not their values.
  let arguments: ParsedArguments
  /// The console for results and messages, as the common options want it.
  let console: Console

  /// A context whose console follows `--json`, `--quiet`, `--verbose` and `--color`. Nothing is checked here; ``check()``
  /// does so.
  init(arguments: ParsedArguments) {
    self.arguments = arguments
    console = Console(
      printsJSON: arguments.isSet("json"), isQuiet: arguments.isSet("quiet"),
      isVerbose: arguments.isSet("verbose"),
      color: arguments.value("color").flatMap(ColorChoice.init(rawValue:)) ?? .auto)
  }

  /// The base URL that was given, not checked.
  var server: String { arguments.value("server") ?? Self.defaultServer }

  /// Refuses values of the common options that no command could use, also where this one does not.
  func check() throws(UsageError) {
    _ = try patience()
    _ = try timeout()
    if let color = arguments.value("color"), ColorChoice(rawValue: color) == nil {
      throw UsageError("--color takes auto, always or never, not '\(color)'")
    }
    if arguments.isSet("quiet"), arguments.isSet("verbose") {
      throw UsageError("--quiet and --verbose exclude each other")
    }
    if arguments.value("agent-socket")?.isEmpty == true {
      throw UsageError("--agent-socket takes the path of a socket")
    }
  }

  /// 0 does not wait.
  private func patience() throws(UsageError) -> Duration {
    try duration("patience") ?? .seconds(60)
  }

  /// How long a command waits for the agent's work; nil for no bound. 1 second to 7 days. Throws for what is
  /// no duration or outside of that.
  func timeout() throws(UsageError) -> Duration? {
    guard let limit = try duration("timeout") else { return nil }
    guard limit >= .seconds(1), limit <= .seconds(604_800) else {
      throw UsageError("--timeout takes 1 s to 7 days")
    }
    return limit
  }

  /// Nil where the option is not given. A number without a unit counts seconds.
  private func duration(_ option: String) throws(UsageError) -> Duration? {
    guard let text = arguments.value(option) else { return nil }
    guard let duration = ConfigurationDuration(text)?.duration else {
      throw UsageError("--\(option) takes a duration such as 90s or 5m, not '\(text)'")
    }
    return duration
  }

  /// The user's own agent if it has a socket, else that of the machine.
  var agentSocket: String { arguments.value("agent-socket") ?? AgentClient.defaultSocketPath }

  /// A client that connects with its first call. A failure of that is turned into a message by
  /// ``CommandFailure``.
  func agent() throws -> AgentClient {
    var client = try AgentClient(socketPath: agentSocket)
    client.observer = console.observer
    return client
  }

  /// A client for commands that change something at the server: while the server does not answer, it retries for as long as
  /// `--patience` says, and says so once on standard error. Every call through it may be made twice
  /// (``OperatorClient/unavailabilityRetry``).
  func patientClient() throws -> OperatorClient {
    var client = try operatorClient()
    let limit = try patience()
    let (server, console) = (server, console)
    client.unavailabilityRetry = UnavailabilityRetry(limit: limit) { error in
      let cause = if case .unreachable(let cause) = error { cause.message } else { error.description }
      console.note(
        "the server at \(server) does not answer (\(cause)); waiting up to \(DurationText.short(limit)) for it"
      )
    }
    return client
  }

  /// A client for commands that only show something: it does not wait. Without a key the server refuses with
  /// `unauthorized`. Throws wrong usage for an address without a scheme.
  func operatorClient() throws -> OperatorClient {
    guard server.hasPrefix("http://") || server.hasPrefix("https://") else {
      throw UsageError(
        "--server takes an address such as \(Self.defaultServer), not '\(server)'")
    }
    do throws(ConfigurationError) {
      try ConfigurationURL.check(server, key: "--server")
    } catch {
      // What is wrong with it may be a password.
      throw UsageError("\(error)")
    }
    var client = try OperatorClient(
      server: server, key: arguments.value("operator-key"),
      certificateAuthorityFile: arguments.value("ca-file"))
    client.observer = console.observer
    return client
  }

  /// The operand at `index`, from 0. Throws without one.
  func operand(_ index: Int) throws(UsageError) -> String {
    guard arguments.operands.indices.contains(index) else { throw UsageError("an operand is missing") }
    return arguments.operands[index]
  }

  /// Throws wrong usage for an operand that is not there or is no identifier.
  func product(_ index: Int) throws(UsageError) -> ProductIdentifier {
    try Self.product(try operand(index))
  }

  /// Throws wrong usage for an operand that is not there or is no version.
  func version(_ index: Int) throws(UsageError) -> ContentVersion {
    try Self.version(try operand(index))
  }

  /// The product that a text of the command line names. Throws wrong usage for what is no identifier.
  static func product(_ text: String) throws(UsageError) -> ProductIdentifier {
    guard let product = ProductIdentifier(text) else {
      throw UsageError(
        "'\(text)' is not a product identifier: 1 to 255 of A-Z a-z 0-9 . _ -, not starting with a dot")
    }
    return product
  }

  /// The version that a text of the command line names. Throws wrong usage for what is none.
  static func version(_ text: String) throws(UsageError) -> ContentVersion {
    guard let version = ContentVersion(text) else {
      throw UsageError("'\(text)' is not a version: dotted whole numbers, such as 1.10")
    }
    return version
  }
}

/// A command that a daemon's program runs instead of serving. A word of the command line (`pullbox-server
/// backup DIR`) or a flag asks for it.
///
/// ```swift
/// let check = DaemonCommand<Settings>(
///   word: CommandDescription(
///     "check", summary: "Compare every package with its digest",
///     options: [.value("rate", "SIZE", environment: .none, key: .none, help: "Bytes a second")])
/// ) { invocation in
///   let settings = try invocation.configuration()
///   return await isWhole(settings.state) ? .done : .integrity
/// }
/// ```
public struct DaemonCommand<Configuration: DaemonConfiguration>: Sendable {
  /// Does the work and answers the process's exit code. No signal is handled, no service runs.
  public typealias Run = @Sendable (DaemonInvocation<Configuration>) async throws -> ExitCode

  /// The part of a command line that asks for a command.
  private enum Trigger: Sendable {
    /// The word of a subcommand, with its own options and operands.
    case word(CommandDescription)
    /// A flag of the daemon, by its name.
    case flag(String)
  }

  /// The part of the command line by which the command is found.
  private let trigger: Trigger
  /// The work of the command.
  let run: Run

  /// Asked for by the description's name. The daemon's own options count beside those of the description.
  public init(word description: CommandDescription, run: @escaping Run) {
    trigger = .word(description)
    self.run = run
  }

  /// Asked for by a flag, by its name without dashes, which is among the daemon's own options.
  public init(flag: String, run: @escaping Run) {
    trigger = .flag(flag)
    self.run = run
  }

  /// Nil for one that a flag asks for.
  var description: CommandDescription? {
    guard case .word(let description) = trigger else { return nil }
    return description
  }

  /// Whether the command line asks for this command. A flag counts only without a subcommand.
  func isAsked(by arguments: ParsedArguments) -> Bool {
    switch trigger {
    case .word(let description): arguments.subcommands == [description.name]
    case .flag(let name): arguments.subcommands.isEmpty && arguments.isSet(name)
    }
  }
}

/// One run of a ``DaemonCommand``.
public struct DaemonInvocation<Configuration: DaemonConfiguration>: Sendable {
  /// The command line: the daemon's options, those of the command, and its operands.
  public let arguments: ParsedArguments
  /// Standard error, at the level of the command line.
  public let log: Log

  /// The configuration in effect. A secret that is missing is an empty text: who calls by hand does not have what the service
  /// manager passes on. Blocks while it reads the file.
  public func configuration() throws(ConfigurationError) -> Configuration {
    var tree = ConfigurationTree(arguments)
    return try ConfigurationLoader.load(Configuration.self, from: &tree, secretsMayBeMissing: true)
  }

  /// The configuration that a file alone gives, over the defaults: variables and options do not count, so that a command may work with
  /// several. A secret that is missing is an empty text. Blocks while it reads the file.
  public func configuration(ofFile path: String) throws(ConfigurationError) -> Configuration {
    var tree = ConfigurationTree(
      ParsedArguments(
        subcommands: [], operands: [], options: arguments.options, environment: [:],
        given: [CommandOption.configurationFile.name: [path]]))
    return try ConfigurationLoader.load(Configuration.self, from: &tree, secretsMayBeMissing: true)
  }
}

import ServiceRuntime

/// The whole command line: what there is, and how a run of it ends.
enum CommandLineInterface {
  static let commands: [any Command.Type] = [
    PublishCommand.self, SubmitCommand.self, ApproveCommand.self, RejectCommand.self, UpdateSizeCommand.self,
    ReleaseCommand.self, WithdrawCommand.self, VersionsCommand.self, ProductsCommand.self,
    DeliveriesCommand.self, GrantsCommand.self, RevokeCommand.self, ReinstateCommand.self, AuditCommand.self,
    GarbageCollectCommand.self,
    PackCommand.self, KeyCommand.self,
    InspectCommand.self, VerifyCommand.self, BuyCommand.self, DownloadsCommand.self, PauseCommand.self,
    ResumeCommand.self, CancelCommand.self, RestoreCommand.self, LibraryCommand.self, PathCommand.self,
    RemoveCommand.self, StatusCommand.self,
  ]

  static let defaultServer = "http://127.0.0.1:8080"
  static let defaultPatience = "60s"
  static let defaultAgentSocket = "/run/pullbox/agent.sock"

  static let description = CommandDescription(
    "pullbox",
    summary: "Publish digital comics and magazines, and collect what was bought",
    discussion: """
      Exit codes: 0 done; 1 failed; 2 wrong usage; 3 not entitled; 4 undetermined,
      try again; 5 no space; 6 integrity.
      """,
    options: [
      .value(
        "server", "URL", fallback: defaultServer, help: "The delivery server, for what an operator does"),
      .value("operator-key", "KEY", help: "What the delivery server knows the operator by"),
      .value(
        "patience", "DURATION", fallback: defaultPatience,
        help:
          "How long a step that changes something waits for a delivery server that is away, such as one that restarts"
      ),
      .value(
        "agent-socket", "PATH", fallback: defaultAgentSocket,
        help: "The Unix socket of this device's agent, for what its user does"),
      .value(
        "store", "URL",
        help: "The payment store that the agent should use: status says so when it is another"),
      .flag("json", environment: .some(nil), help: "Print JSON, one object per line"),
    ],
    subcommands: commands.map { $0.description })

  static func run(_ arguments: ParsedArguments) async -> ExitCode {
    guard let command = commands.first(where: { $0.description.name == arguments.subcommands.first }) else {
      return .usage
    }
    let context = CommandContext(arguments: arguments)
    do {
      try await command.run(context)
      return .done
    } catch {
      let failure = CommandFailure(error, context: context, peer: command.peer)
      if !failure.message.isEmpty {
        StandardStream.error.write("pullbox \(command.description.name): \(failure.message)\n")
      }
      return failure.exitCode
    }
  }
}

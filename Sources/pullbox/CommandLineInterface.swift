import ServiceRuntime

/// The whole command line of `pullbox`: its commands, and how a run ends. A new command is a type that conforms to
/// ``Command``, and a line in ``commands``.
enum CommandLineInterface {
  static let commands: [any Command.Type] = [
    PublishCommand.self, SubmitCommand.self, ApproveCommand.self, RejectCommand.self, UpdateSizeCommand.self,
    ReleaseCommand.self, WithdrawCommand.self, VersionsCommand.self, ProductsCommand.self,
    DeliveriesCommand.self, GrantsCommand.self, RevokeCommand.self, ReinstateCommand.self, AuditCommand.self,
    OutboxCommand.self, GarbageCollectCommand.self, ScrubCommand.self,
    PackCommand.self, KeyCommand.self,
    InspectCommand.self, VerifyCommand.self, BuyCommand.self, TransactionsCommand.self, DownloadsCommand.self,
    PauseCommand.self,
    ResumeCommand.self, CancelCommand.self, RestoreCommand.self, LibraryCommand.self, PathCommand.self,
    RepairCommand.self, RemoveCommand.self, StatusCommand.self,
  ]

  static let description = CommandDescription(
    "pullbox",
    summary: "Publish digital comics and magazines, and download what was bought",
    discussion: """
      Exit codes: 0 done; 1 failed; 2 wrong usage; 3 not entitled; 4 undetermined,
      try again; 5 no space; 6 integrity.
      """,
    options: CommandContext.options,
    subcommands: commands.map { $0.description.adding(paragraph: $0.peer.explanation) })

  static func run(_ arguments: ParsedArguments) async -> ExitCode {
    guard let command = commands.first(where: { $0.description.name == arguments.subcommands.first }) else {
      return .usage
    }
    let context = CommandContext(arguments: arguments)
    do {
      try context.check()
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

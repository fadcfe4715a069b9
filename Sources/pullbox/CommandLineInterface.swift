import ServiceRuntime

/// The whole command line of `pullbox`: its commands, and how a run ends. A new command is a type that conforms to
/// ``Command``, and a line in ``groups``.
enum CommandLineInterface {
  /// The commands by whom they are for, under the titles of the help.
  static let groups: [(title: String, commands: [any Command.Type])] = [
    (
      "Commands for this device",
      [
        ShopCommand.self, BuyCommand.self, RedeemCommand.self, SubscriptionCommand.self,
        DownloadsCommand.self, PauseCommand.self,
        ResumeCommand.self, CancelCommand.self,
        PriorityCommand.self, UrgencyCommand.self, LibraryCommand.self, PathCommand.self, OpenCommand.self,
        PinCommand.self,
        UnpinCommand.self, RollbackCommand.self, OwnershipCommand.self, RestoreCommand.self,
        UpdateCommand.self,
        NewsCommand.self, ReadersCommand.self, RepairCommand.self, RemoveCommand.self,
        SectionsCommand.self, FetchCommand.self, DropCommand.self,
        TransactionsCommand.self,
        StatusCommand.self, ConditionsCommand.self,
        DoctorCommand.self,
      ]
    ),
    (
      "Commands for publishing",
      [
        PublishCommand.self, SubmitCommand.self, ApproveCommand.self, RejectCommand.self,
        UpdateSizeCommand.self, ReleaseCommand.self, WithdrawCommand.self, VersionsCommand.self,
        ProductsCommand.self, ProductCommand.self, PublicationsCommand.self,
        PriceTiersCommand.self, ImportCommand.self, ExportCommand.self,
      ]
    ),
    (
      "Commands for packages",
      [PackCommand.self, InspectCommand.self, VerifyCommand.self, KeyCommand.self]
    ),
    (
      "Commands for operating a server",
      [
        DeliveriesCommand.self, GrantsCommand.self, RevokeCommand.self, ReinstateCommand.self,
        AuditCommand.self, ExplainCommand.self, CustomersCommand.self, StoresCommand.self, ReportCommand.self,
        ApprovalsCommand.self, OutboxCommand.self,
        IrregularitiesCommand.self, GarbageCollectCommand.self, ScrubCommand.self,
      ]
    ),
  ]

  /// All commands, also the one that no help lists. Their names are the words that ``run(_:)`` finds them by.
  static let commands = groups.flatMap(\.commands) + [CompleteCommand.self]

  /// The description of the whole program, from which the parser, the help, the manual and the completions
  /// are made.
  static let description = CommandDescription(
    "pullbox",
    summary: "Publish digital comics and magazines, and download what was bought",
    exitCodes: [
      (.done, "done"), (.failed, "failed"), (.usage, "wrong usage"), (.notEntitled, "not entitled"),
      (.undetermined, "undetermined, try again"), (.noSpace, "no space"), (.integrity, "integrity"),
      (.notWell, "not well, of 'status' alone"),
    ],
    options: CommandContext.options
      + CommandOption.section("Options of commands for this device", CommandContext.agentOptions)
      + CommandOption.section(
        "Options of commands that talk to the delivery server", CommandContext.serverOptions),
    subcommands: groups.flatMap { group in group.commands.map { description(of: $0, under: group.title) } }
      + [CompleteCommand.description.hidden()])

  /// The command's own description with the paragraph about its service. The help lists it with those common
  /// options that mean something for that service; the parser takes the others too.
  private static func description(of command: any Command.Type, under title: String) -> CommandDescription {
    command.description.adding(paragraph: command.peer.explanation)
      .listed(under: title, using: Set(command.peer.options.map(\.name)))
  }

  /// Refuses the name of a store in place of the address that `--store` takes, where the command has `--store-name` for it. Addresses
  /// are taken everywhere: a wrapper may give every command all common options.
  private static func check(_ arguments: ParsedArguments, of command: any Command.Type) throws(UsageError) {
    guard arguments.isGiven("store"), let value = arguments.value("store"), !value.contains("://"),
      command.description.options.contains(where: { $0.name == "store-name" })
    else { return }
    throw UsageError(
      "--store takes the address of the agent's store; --store-name names a store of the server")
  }

  /// Runs the command that the arguments name, and says what went wrong on standard error. The values of
  /// common options are checked before it, so that one that no command could use is wrong usage whatever the
  /// command is. Never throws.
  static func run(_ arguments: ParsedArguments) async -> ExitCode {
    guard let command = commands.first(where: { $0.description.name == arguments.subcommands.first }) else {
      return .usage
    }
    let context = CommandContext(arguments: arguments)
    do {
      try context.check()
      try check(arguments, of: command)
      try await command.run(context)
      return .done
    } catch {
      let failure = CommandFailure(error, context: context, peer: command.peer)
      if !failure.message.isEmpty {
        Console.complain(["pullbox \(command.description.name): \(failure.message)"] + failure.details)
      }
      return failure.exitCode
    }
  }
}

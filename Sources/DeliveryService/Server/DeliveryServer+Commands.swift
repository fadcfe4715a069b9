import ContentDelivery
import CoreTypes
import Database
import PostgreSQLEngine
public import ServiceRuntime
import SystemCalls

extension DeliveryServer {
  /// The commands that `pullbox-server` runs in place of serving.
  public static let commands: [DaemonCommand<DeliveryConfiguration>] = [
    DaemonCommand(flag: TicketKeyRotation.option.name) { invocation in
      await BlockingPool.shared.run { rotateTicketKey(invocation) }
    },
    DaemonCommand(word: BackupCommands.backup) { await run($0, BackupCommands.runBackup) },
    DaemonCommand(word: BackupCommands.restore) { await run($0, BackupCommands.runRestore) },
    DaemonCommand(word: BackupCommands.check) { await run($0, BackupCommands.runCheck) },
    DaemonCommand(word: MoveCommand.description) { invocation in
      await run(invocation) { arguments in
        try MoveCommand.run(arguments) { try invocation.configuration(ofFile: $0) }
      }
    },
  ]

  /// Adds a ticket key to the file of the state directory, or to the database that servers share.
  private static func rotateTicketKey(_ invocation: DaemonInvocation<DeliveryConfiguration>) -> ExitCode {
    let arguments = invocation.arguments
    let isShared = arguments.value("database") != nil || arguments.value("config") != nil
    guard isShared, let configuration = try? invocation.configuration(), configuration.database != nil else {
      return TicketKeyRotation.run(arguments)
    }
    return TicketKeyRotation.run(arguments) { asked in
      let database = try configuration.openDatabase(Database.Options(), claim: .none)
      defer { database.close() }
      let delay = asked ?? SharedTicketKeys.delay
      return (
        try SharedTicketKeys(database: database, state: configuration.state).rotate(delay: delay), delay
      )
    }
  }

  /// Runs a command on the state directory, and the database, that `--state` and `--database` name, or the file of `--config`.
  private static func run(
    _ invocation: DaemonInvocation<DeliveryConfiguration>,
    _ command: @escaping @Sendable (ParsedArguments, _ place: StatePlace) throws -> ExitCode
  ) async -> ExitCode {
    await run(invocation) { arguments in
      guard arguments.value("config") == nil else {
        return try command(arguments, invocation.configuration().statePlace())
      }
      let database = try DeliveryConfiguration.address(ofDatabase: arguments.value("database"))
      return try command(arguments, StatePlace(directory: arguments.required("state"), database: database))
    }
  }

  /// Runs a command, and tells why it failed.
  private static func run(
    _ invocation: DaemonInvocation<DeliveryConfiguration>,
    _ command: @escaping @Sendable (ParsedArguments) throws -> ExitCode
  ) async -> ExitCode {
    let arguments = invocation.arguments
    return await BlockingPool.shared.run {
      do {
        return try command(arguments)
      } catch {
        let name = arguments.subcommands.joined(separator: " ")
        let messages = (error as? ConfigurationError)?.faults.map(\.description) ?? ["\(error)"]
        for message in messages {
          StandardStream.error.write(PlainText.line("pullbox-server \(name): \(message)") + "\n")
        }
        return .of(error)
      }
    }
  }
}

import ContentDelivery
import ContentGrants
import CoreTypes
import Database
import DeliveryRecords
import DeliverySchema
import PostgreSQLEngine
public import ServiceRuntime
import SystemCalls

extension DeliveryServer {
  /// The commands that `pullbox-server` runs in place of serving.
  public static let commands: [DaemonCommand<DeliveryConfiguration>] = [
    DaemonCommand(flag: TicketKeyRotation.option.name) { invocation in
      await BlockingPool.shared.run { rotateTicketKey(invocation) }
    },
    DaemonCommand(flag: LicenseKeys.rotationOption.name) { invocation in
      await BlockingPool.shared.run { LicenseKeyRotation.run(invocation) }
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

  /// Adds a ticket key to the database that `--database` or the file of `--config` names, otherwise to the file of the state directory,
  /// which `--state` or that file names.
  private static func rotateTicketKey(_ invocation: DaemonInvocation<DeliveryConfiguration>) -> ExitCode {
    let arguments = invocation.arguments
    func configured() throws -> DeliveryConfiguration? {
      try arguments.value("config").map { _ in try invocation.configuration() }
    }
    let state = { try configured()?.state ?? arguments.required("state") }
    return TicketKeyRotation.run(arguments, state: state) { asked in
      let configuration = try configured()
      let named = try DeliveryConfiguration.address(ofDatabase: arguments.value("database"))
      guard let address = try configuration?.databaseAddress() ?? named else { return nil }
      let database = try Database.open(
        address, schema: PostgreSQLSchema.definition,
        options: PostgreSQLOptions(writers: 1, readers: 1, claim: .none))
      defer { database.close() }
      let delay = asked ?? SharedTicketKeys.delay
      let keys = SharedTicketKeys(database: database, state: try state(), log: Log())
      return (try keys.rotate(delay: delay), delay)
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
      let state = try arguments.required("state")
      if let location = try PackagesMark.read(in: state)?.location {
        throw UsageError("\(state): its packages lie in \(location); give --config, which names the store")
      }
      return try command(arguments, StatePlace(directory: state, database: database))
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

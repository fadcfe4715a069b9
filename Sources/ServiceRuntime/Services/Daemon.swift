import CoreTypes
import Dispatch
import Synchronization
import SystemCalls

/// The whole life of a daemon's process: command line, signals, configuration, log, services, exit code.
public enum Daemon {
  /// The services of a daemon, its addresses, its reload and its stop deadline, made from its configuration.
  public struct Parts: Sendable {
    /// The services, in the order of their start.
    public var services: [any Service]
    /// The addresses for the ready file, called once all services have started.
    public var addresses: @Sendable () -> [String]
    /// Called at every SIGHUP. Nil for a daemon that takes a new log level alone; the log says what else needs a restart.
    public var reload: (@Sendable () async -> Void)?
    /// How long all services together may take to stop; then the process fails. Nil for
    /// ``GroupEnvironment/stopDeadline``'s default.
    public var stopDeadline: Duration?

    /// A daemon that takes a new log level alone and has the standard stop deadline unless given others.
    public init(
      services: [any Service], addresses: @escaping @Sendable () -> [String],
      reload: (@Sendable () async -> Void)? = nil, stopDeadline: Duration? = nil
    ) {
      self.services = services
      self.addresses = addresses
      self.reload = reload
      self.stopDeadline = stopDeadline
    }
  }

  /// Call it from a synchronous `main`, so that signals are blocked before there is a second thread. Where the command line
  /// asks for one of `commands`, that runs; else the daemon serves what `make` returns. `make` also gets what reads
  /// the configuration again, for ``Parts/reload``.
  ///
  /// The log's level is that of `--log-level` until the configuration is read, then the configuration's, which the flag
  /// overrides. Never returns: the process ends with the code that the services' group or the command gives, with
  /// ``ExitCode/configuration`` for a ``ConfigurationError`` that does not pass, and with ``ExitCode/failed`` if `make` throws another
  /// error.
  public static func main<Configuration: DaemonConfiguration>(
    _ command: CommandDescription, configuration type: Configuration.Type,
    commands: [DaemonCommand<Configuration>] = [],
    make:
      @escaping @Sendable (
        Configuration, Log, ConfigurationSource<Configuration>
      ) throws -> Parts
  ) -> Never {
    StandardStream.reserve()
    let arguments = ArgumentParser.parseOrExit(description(of: command, with: commands))
    let log = Log()
    if let level = arguments.value(CommandOption.logLevel.name).flatMap(LogLevel.init(name:)) {
      log.level = level
    }
    let all = DaemonCommand<Configuration>.ofConfiguration(command) + commands
    if let chosen = all.first(where: { $0.isAsked(by: arguments) }) {
      run(chosen, DaemonInvocation(arguments: arguments, log: log), program: command.name)
        .exitProcess(printing: command.name)
    }
    serve(command, arguments, log: log, make: make).exitProcess()
  }

  /// Returns the command line of a daemon with `commands`.
  static func description<Configuration: DaemonConfiguration>(
    of command: CommandDescription, with commands: [DaemonCommand<Configuration>]
  ) -> CommandDescription {
    command.ending(with: exitCodes).adding(optionalSubcommands: commands.compactMap(\.description))
  }

  /// The codes for help and manual.
  private static let exitCodes: [(code: ExitCode, meaning: String)] = [
    (.done, "done"), (.failed, "failed"), (.usage, "wrong usage"), (.noSpace, "no space"),
    (.integrity, "integrity"), (.configuration, "faulty configuration"),
  ]

  /// Runs a command to its end and returns its code. An error is told on standard error, without a log.
  private static func run<Configuration: DaemonConfiguration>(
    _ command: DaemonCommand<Configuration>, _ invocation: DaemonInvocation<Configuration>, program: String
  ) -> ExitCode {
    finish {
      do {
        return try await command.run(invocation)
      } catch {
        StandardStream.error.write("\(program): \(error)\n")
        return code(of: error)
      }
    }
  }

  /// Starts the daemon and returns the code of its end. Everything before the services is told in the log where it fails,
  /// and the services are not started then.
  private static func serve<Configuration: DaemonConfiguration>(
    _ command: CommandDescription, _ arguments: ParsedArguments, log: Log,
    make:
      @escaping @Sendable (
        Configuration, Log, ConfigurationSource<Configuration>
      ) throws -> Parts
  ) -> ExitCode {
    do {
      var environment = try GroupEnvironment.process()
      let report = ConfigurationReport<Configuration>(arguments)
      let configuration = try report.usable()
      log.level = LogLevel(name: configuration.logLevel) ?? log.level
      for warning in report.warnings { log.warning("configuration", warning.fields) }
      let readyFile = arguments.value(CommandOption.readyFile.name).map(ReadyFile.init(path:))
      try readyFile?.removeStale()
      let source = ConfigurationSource<Configuration>(arguments)
      let parts = try make(configuration, log, source)
      let reload =
        parts.reload
        ?? { await reloadLogLevel(of: configuration, options: command.options, log: log, from: source) }
      if let deadline = parts.stopDeadline { environment.stopDeadline = deadline }
      let group = ServiceGroup(
        parts.services, log: log, environment: environment,
        whenReady: { try readyFile?.write(addresses: parts.addresses()) }, whenReloading: reload)
      return finish { await group.run() }
    } catch let error as ConfigurationError {
      for fault in error.faults { log.error("\(command.name) cannot start", fault.fields) }
      return code(of: error)
    } catch {
      log.error("\(command.name) cannot start", ["error": LogValue(error)])
      return code(of: error)
    }
  }

  /// Applies the new log level at SIGHUP, for a daemon that can change nothing else while it runs.
  private static func reloadLogLevel<Configuration: DaemonConfiguration>(
    of old: Configuration, options: [CommandOption], log: Log, from source: ConfigurationSource<Configuration>
  ) async {
    do {
      let new = try await BlockingPool.shared.run { try source.read().configuration }
      log.level = LogLevel(name: new.logLevel) ?? log.level
      log.info("reloaded", ["level": LogValue(new.logLevel)])
      let keys = new.keysThatNeedRestart(since: old, options: options)
      if !keys.isEmpty {
        log.warning("some changes need a restart", ["keys": LogValue(keys.joined(separator: " "))])
      }
    } catch {
      log.refuseReload(error)
    }
  }

  /// Returns the code that a process ends with after the error. After ``ExitCode/configuration`` systemd does not start it again.
  static func code(of error: any Error) -> ExitCode {
    switch error {
    case is UsageError: .usage
    case let error as ConfigurationError: error.mayPass ? .failed : .configuration
    default: .failed
    }
  }

  /// Blocks until `work` is done.
  private static func finish(_ work: @escaping @Sendable () async -> ExitCode) -> ExitCode {
    let code = Mutex(ExitCode.failed)
    let done = DispatchSemaphore(value: 0)
    // Unstructured: there is no task yet that could be its parent.
    Task {
      let result = await work()
      code.locked { $0 = result }
      done.signal()
    }
    done.wait()
    return code.locked { $0 }
  }
}

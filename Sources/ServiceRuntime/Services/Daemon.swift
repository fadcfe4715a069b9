import Dispatch
import Synchronization

/// What every daemon's configuration says.
public protocol DaemonConfiguration: Decodable, Sendable {
  /// The name of the ``LogLevel`` of the least severe lines that are logged.
  var logLevel: String { get }
}

/// The whole life of a daemon's process: command line, signals, configuration, log, services, exit code.
public enum Daemon {
  /// What a daemon runs, made from its configuration.
  public struct Parts: Sendable {
    /// The services, in the order of their start.
    public var services: [any Service]
    /// The addresses for the ready file, called once all services have started.
    public var addresses: @Sendable () -> [String]
    /// Called at every SIGHUP.
    public var reload: @Sendable () async -> Void
    /// How long all services together may take to stop; then the process fails. Nil for
    /// ``GroupEnvironment/stopDeadline``'s default.
    public var stopDeadline: Duration?

    /// A daemon that ignores SIGHUP and has the standard stop deadline unless given others.
    public init(
      services: [any Service], addresses: @escaping @Sendable () -> [String],
      reload: @escaping @Sendable () async -> Void = {}, stopDeadline: Duration? = nil
    ) {
      self.services = services
      self.addresses = addresses
      self.reload = reload
      self.stopDeadline = stopDeadline
    }
  }

  /// Call it from a synchronous `main`, so that signals are blocked before there is a second thread. The
  /// log's level is that of `--log-level` until the configuration is read, then the configuration's, which the
  /// flag overrides. Never returns: the process ends with the code that
  /// the services' group gives, and with ``ExitCode/failed`` if `make` throws.
  public static func main<Configuration: DaemonConfiguration>(
    _ command: CommandDescription, configuration type: Configuration.Type,
    make: @escaping @Sendable (Configuration, Log) throws -> Parts
  ) -> Never {
    main(command, configuration: type) { configuration, log, _ in try make(configuration, log) }
  }

  /// The same as ``main(_:configuration:make:)``; `make` also gets a closure that reads the configuration again, for
  /// ``Parts/reload``. It blocks while it reads the file.
  public static func main<Configuration: DaemonConfiguration>(
    _ command: CommandDescription, configuration type: Configuration.Type,
    make:
      @escaping @Sendable (
        Configuration, Log, @escaping @Sendable () throws(ConfigurationError) -> Configuration
      ) throws -> Parts
  ) -> Never {
    StandardStream.reserve()
    let arguments = ArgumentParser.parseOrExit(command)
    let log = Log()
    let code = Mutex(ExitCode.failed)
    do {
      var environment = try GroupEnvironment.process()
      if let level = arguments.value(CommandOption.logLevel.name).flatMap(LogLevel.init(name:)) {
        log.level = level
      }
      let configuration = try ConfigurationLoader.load(type, arguments: arguments)
      guard let level = LogLevel(name: configuration.logLevel) else {
        throw ConfigurationError(
          subject: "logLevel", message: "not a log level: \(configuration.logLevel)")
      }
      log.level = level
      let readyFile = arguments.value(CommandOption.readyFile.name).map(ReadyFile.init(path:))
      try readyFile?.removeStale()
      let parts = try make(configuration, log) { () throws(ConfigurationError) in
        try ConfigurationLoader.load(type, arguments: arguments)
      }
      if let deadline = parts.stopDeadline { environment.stopDeadline = deadline }
      let group = ServiceGroup(
        parts.services, log: log, environment: environment,
        whenReady: { try readyFile?.write(addresses: parts.addresses()) }, whenReloading: parts.reload)
      let done = DispatchSemaphore(value: 0)
      // Unstructured: there is no task yet that could be its parent.
      Task {
        let result = await group.run()
        code.withLock { $0 = result }
        done.signal()
      }
      done.wait()
    } catch {
      log.error("\(command.name) cannot start", ["error": LogValue(error)])
    }
    code.withLock { $0 }.exitProcess()
  }
}

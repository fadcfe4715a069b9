import CLinux
public import CoreTypes
import Glibc
public import SystemCalls

/// The parts of a process that a ``ServiceGroup`` uses: signals, clock, service manager, end.
public struct GroupEnvironment: Sendable {
  /// Read by one group only.
  public var signals: AsyncStream<ProcessSignal>
  /// Measures the stop deadline and the watchdog interval.
  public var clock: any MonotonicClock
  /// How long all services together may take to stop.
  public var stopDeadline: Duration
  /// The service manager; nil without one.
  public var notifier: ServiceManagerNotifier?
  /// How often the service manager is to hear that all services are alive; nil when it does not ask.
  public var watchdogInterval: Duration?
  /// Ends the process at once. Only that of a test may return.
  public var endProcess: @Sendable (ExitCode) -> Void

  /// An environment for tests; a process uses ``process(stopDeadline:)``.
  public init(
    signals: AsyncStream<ProcessSignal>, clock: any MonotonicClock = SystemMonotonicClock(),
    stopDeadline: Duration = .seconds(30), notifier: ServiceManagerNotifier? = nil,
    endProcess: @escaping @Sendable (ExitCode) -> Void = GroupEnvironment.endAtOnce
  ) {
    self.signals = signals
    self.clock = clock
    self.stopDeadline = stopDeadline
    self.notifier = notifier
    self.endProcess = endProcess
  }

  /// _exit(2).
  public static func endAtOnce(_ code: ExitCode) {
    _exit(code.rawValue)
  }

  /// Returns the environment of this process; see ``ProcessSignals/install()`` for when to call it.
  public static func process(stopDeadline: Duration = .seconds(30)) throws(SystemError) -> GroupEnvironment {
    ProcessEnvironment.silenceDispatch()
    let variables = ProcessEnvironment.variables
    var environment = GroupEnvironment(
      signals: try ProcessSignals.install(), stopDeadline: stopDeadline,
      notifier: ServiceManagerNotifier(environment: variables))
    environment.watchdogInterval = watchdogInterval(variables, process: getpid())
    return environment
  }

  /// Half of `WATCHDOG_USEC`, as sd_watchdog_enabled(3) advises; nil when it is not set, or meant for another process.
  static func watchdogInterval(_ variables: [String: String], process: Int32) -> Duration? {
    guard let microseconds = variables["WATCHDOG_USEC"].flatMap(Int64.init), microseconds > 1 else {
      return nil
    }
    if let owner = variables["WATCHDOG_PID"], Int32(owner) != process { return nil }
    return .microseconds(microseconds / 2)
  }
}

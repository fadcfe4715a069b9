import Glibc
public import Measures
public import SystemCalls

/// What a ``ServiceGroup`` takes from the process around it.
public struct GroupEnvironment: Sendable {
  /// Read by one group only.
  public var signals: AsyncStream<ProcessSignal>
  public var clock: any MonotonicClock
  /// For all services together.
  public var stopDeadline: Duration
  public var notifier: ServiceManagerNotifier?
  /// Ends the process without waiting for anything; only a test's may return.
  public var endProcess: @Sendable (ExitCode) -> Void

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

  /// The real one; see ``ProcessSignals/install()`` for when to call it.
  public static func process(stopDeadline: Duration = .seconds(30)) throws(SystemError) -> GroupEnvironment {
    GroupEnvironment(
      signals: try ProcessSignals.install(), stopDeadline: stopDeadline,
      notifier: ServiceManagerNotifier(environment: ProcessEnvironment.variables))
  }
}

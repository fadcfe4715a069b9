/// A part of a daemon that lives as long as the daemon: a server, a scheduler, a poller.
public protocol Service: Sendable {
  /// The service's name in the log.
  var name: String { get }
  /// Returns when the service does its work; the next one is started then. If it throws, the services before it are stopped
  /// and the process fails.
  func start() async throws
  /// Runs until the task is cancelled, which happens after ``stop()``. Returning earlier says the work is
  /// done, and does not stop the others; throwing (but for a `CancellationError` after a stop) stops the
  /// whole group, which then fails.
  func run() async throws
  /// Returns once the service has shown that it does its work: its event loops and workers have answered. A service that
  /// hangs does not return, and the service manager's watchdog ends the process. Called before the start and during the
  /// stop as well.
  func pulse() async
  /// Finishes work in progress; returns when that is done. Called once, after everything that was started
  /// later has stopped.
  func stop() async
}

extension Service {
  /// The type's name.
  public var name: String { "\(Self.self)" }

  /// Has nothing to start.
  public func start() async throws {}

  /// Waits to be cancelled.
  public func run() async throws {
    await Event().wait()
  }

  /// Proves nothing beyond that the cooperative pool runs.
  public func pulse() async {}

  /// Has nothing to finish.
  public func stop() async {}
}

/// A part of a daemon that lives as long as the daemon: a server, a scheduler, a poller.
public protocol Service: Sendable {
  /// For the log.
  var name: String { get }
  /// Returns when the service does its work; only then is the next one started. When it throws, the services
  /// before are stopped and the process fails.
  func start() async throws
  /// Runs until the task is cancelled, which happens after ``stop()``. Returning earlier says the work is
  /// done, and does not stop the others; throwing (but for a `CancellationError` after a stop) stops the
  /// whole group, which then fails.
  func run() async throws
  /// Returns once the service has shown that it does its work: whatever serves requests has come round. A service that
  /// hangs does not return, and the service manager's watchdog ends the process. Called before the start and during the
  /// stop as well.
  func pulse() async
  /// Finishes work in progress; returns when that is done. Called once, after everything that was started
  /// later has stopped.
  func stop() async
}

extension Service {
  public var name: String { "\(Self.self)" }

  public func start() async throws {}

  /// Waits to be cancelled.
  public func run() async throws {
    await Event().wait()
  }

  public func pulse() async {}

  public func stop() async {}
}

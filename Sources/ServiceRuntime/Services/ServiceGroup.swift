import CoreTypes
import Synchronization
import SystemCalls

/// Runs the services of a daemon: starts them in order, and stops them in reverse order when a signal asks for it or one
/// of them fails.
///
/// Each service lives inside the task of the one before it, so that a service may use those before it from its start to
/// its stop. SIGHUP runs `whenReloading`; systemd is notified of readiness, reloads, the stop and, by each service's
/// ``Service/pulse()``, that the process is alive.
///
/// ```swift
/// let group = ServiceGroup(
///   [database, server], log: Log(), environment: try .process(),
///   whenReady: { try readyFile.write(addresses: server.addresses) })
/// let code = await group.run()
/// ```
///
/// ``Daemon`` does this for a whole process.
public struct ServiceGroup: Sendable {
  /// The services in the order of their start.
  private let services: [any Service]
  /// The log of starts, stops and failures.
  private let log: Log
  /// The signals, the clock, the service manager and the end of the process.
  private let environment: GroupEnvironment
  /// The work between the last start and the notification.
  private let whenReady: @Sendable () async throws -> Void
  /// The work of a reload.
  private let whenReloading: @Sendable () async -> Void

  /// `whenReady` runs once everything has started, before the service manager is notified; if it throws, the
  /// group fails. `whenReloading` runs at every SIGHUP, one at a time.
  public init(
    _ services: [any Service], log: Log, environment: GroupEnvironment,
    whenReady: @escaping @Sendable () async throws -> Void = {},
    whenReloading: @escaping @Sendable () async -> Void = {}
  ) {
    self.services = services
    self.log = log
    self.environment = environment
    self.whenReady = whenReady
    self.whenReloading = whenReloading
  }

  /// Returns when everything has stopped: ``ExitCode/done`` after a clean stop, ``ExitCode/failed`` when a
  /// service failed. When stopping takes longer than its deadline, or a second SIGTERM or SIGINT comes, the
  /// process ends there and then.
  public func run() async -> ExitCode {
    let state = GroupState(log: log, serviceCount: services.count)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await handleSignals(state) }
      group.addTask { await enforceDeadline(state) }
      group.addTask { await feedWatchdog() }
      await run(services[...], state)
      group.cancelAll()
    }
    return state.hasFailed ? .failed : .done
  }

  /// The first of `rest` lives around all that follow it: this is what makes the stop run backwards.
  private func run(_ rest: ArraySlice<any Service>, _ state: GroupState) async {
    guard !state.stop.hasHappened else { return }
    guard let service = rest.first else {
      await becomeReady(state)
      await state.stop.wait()
      return
    }
    do {
      try await service.start()
    } catch {
      state.fail("a service could not start", of: service, error: error)
      return
    }
    log.debug("service started", ["service": "\(service.name)"])
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await runToEnd(service, state) }
      await run(rest.dropFirst(), state)
      await service.stop()
      group.cancelAll()
    }
    log.debug("service stopped", ["service": "\(service.name)"])
  }

  /// Runs a service until it ends. An end by itself is counted, and an error stops the group, unless the stop has
  /// cancelled it.
  private func runToEnd(_ service: any Service, _ state: GroupState) async {
    do {
      try await service.run()
      state.countEnded()
    } catch {
      if error is CancellationError, state.stop.hasHappened { return }
      state.fail("a service failed", of: service, error: error)
    }
  }

  /// Tells that the daemon serves. An error of ``whenReady`` or of the notification stops the group.
  private func becomeReady(_ state: GroupState) async {
    do {
      try await whenReady()
      // First: the service manager may ask for a reload at once, and waits for its notification too.
      state.becomeReady()
      try environment.notifier?.notify("READY=1\nSTATUS=Serving")
    } catch {
      state.fail("becoming ready failed", of: nil, error: error)
    }
  }

  /// Takes signals until the group ends. The first that asks to stop begins the stop, and the second ends the process at
  /// once.
  private func handleSignals(_ state: GroupState) async {
    var isAskedToStop = false
    for await signal in environment.signals {
      switch signal {
      case .reload:
        log.info("reloading")
        if state.isReady { notify { (notifier) throws(SystemError) in try notifier.notifyReloading() } }
        await whenReloading()
        if state.isReady, !state.stop.hasHappened { notify("READY=1") }
      case .terminate, .interrupt:
        // A stop that follows from a failure has not been asked for: the first signal lets it finish.
        guard !isAskedToStop else {
          log.warning("a second signal asks to stop: the process ends at once")
          environment.endProcess(.killed(by: signal == .terminate ? 15 : 2))
          return
        }
        isAskedToStop = true
        state.stop.happen()
        log.info("stopping", ["signal": signal == .terminate ? "SIGTERM" : "SIGINT"])
      }
    }
  }

  /// Waits for the stop and ends the process where that takes longer than the deadline.
  private func enforceDeadline(_ state: GroupState) async {
    await state.stop.wait()
    guard state.stop.hasHappened else { return }
    notify("STOPPING=1\nSTATUS=Finishing what is in progress")
    do {
      try await environment.clock.sleep(for: environment.stopDeadline)
    } catch {
      // Cancelled: everything has stopped in time.
      return
    }
    log.error("stopping took too long", ["deadline": LogValue(environment.stopDeadline)])
    environment.endProcess(.failed)
  }

  /// Notifies the service manager, as often as it asks for, once every service has proved to be alive.
  private func feedWatchdog() async {
    guard environment.notifier != nil, let interval = environment.watchdogInterval else { return }
    while !Task.isCancelled {
      for service in services { await service.pulse() }
      // A pulse that the end of the group cut short proves nothing.
      if Task.isCancelled { return }
      notify("WATCHDOG=1")
      // Cancelled: everything has stopped.
      try? await environment.clock.sleep(for: interval)
    }
  }

  /// Sends one state to the service manager.
  private func notify(_ text: String) {
    notify { (notifier) throws(SystemError) in try notifier.notify(text) }
  }

  /// An error is logged; the group goes on.
  private func notify(_ body: (ServiceManagerNotifier) throws(SystemError) -> Void) {
    guard let notifier = environment.notifier else { return }
    do {
      try body(notifier)
    } catch {
      log.warning("the service manager could not be notified", ["error": LogValue(error)])
    }
  }
}

/// The state that the tasks of a running ``ServiceGroup`` share.
final class GroupState: Sendable {
  /// Happens when the services have to stop.
  let stop = Event()
  /// The log of failures.
  private let log: Log
  /// Whether a service, a start or readiness has failed.
  private let failed = Atomic(false)
  /// Whether everything has started.
  private let ready = Atomic(false)
  /// The services that have not ended by themselves.
  private let running: Atomic<Int>

  /// The state before the first start.
  init(log: Log, serviceCount: Int) {
    self.log = log
    running = Atomic(serviceCount)
  }

  /// Whether the process is to end with ``ExitCode/failed``.
  var hasFailed: Bool { failed.load(ordering: .acquiring) }

  /// Everything has started, and the service manager is being notified or was.
  var isReady: Bool { ready.load(ordering: .acquiring) }

  /// Notes that everything has started; never taken back.
  func becomeReady() {
    ready.store(true, ordering: .releasing)
  }

  /// Logs the failure and lets the group stop. Any number of failures stop it once.
  func fail(_ message: String, of service: (any Service)?, error: any Error) {
    log.error(message, ["service": LogValue(service?.name), "error": LogValue(error)])
    failed.store(true, ordering: .releasing)
    stop.happen()
  }

  /// A group none of whose services has anything left to do stops.
  func countEnded() {
    if running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { stop.happen() }
  }
}

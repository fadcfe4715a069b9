import CoreTypes
import PullboxTesting
import SystemCalls
import Testing

@testable import ServiceRuntime

/// The messages that a service manager hears of a group, in sd_notify(3)'s words.
@Suite(.timeLimit(.minutes(10)))
struct ServiceManagerTests {
  private struct Pulsing: Service {
    let body: @Sendable () async -> Void
    func pulse() async { await body() }
  }

  private let directory: TemporaryDirectory
  private let socket: NotificationSocket
  private let clock = ManualMonotonicClock()
  private let signals: AsyncStream<ProcessSignal>.Continuation
  private let stream: AsyncStream<ProcessSignal>

  init() throws {
    directory = try TemporaryDirectory()
    socket = try NotificationSocket(path: directory.path("notify"))
    (stream, signals) = AsyncStream.makeStream(of: ProcessSignal.self)
  }

  private func group(
    _ services: [any Service] = [Pulsing {}], watchdog: Duration? = nil,
    reload: @escaping @Sendable () async -> Void = {}
  ) -> ServiceGroup {
    var environment = GroupEnvironment(
      signals: stream, clock: clock,
      notifier: ServiceManagerNotifier(environment: ["NOTIFY_SOCKET": socket.path]))
    environment.watchdogInterval = watchdog
    environment.endProcess = { Issue.record("the process would have ended with \($0.rawValue)") }
    return ServiceGroup(
      services, log: Log(output: { _ in }), environment: environment, whenReloading: reload)
  }

  private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

  @Test("readiness, a reload with its time, readiness again, and the stop are told in this order")
  func order() async {
    let group = group()
    async let code = group.run()
    #expect(lines(await socket.next()).first == "READY=1")
    signals.yield(.reload)
    let reloading = lines(await socket.next())
    #expect(reloading.first == "RELOADING=1")
    let time = reloading.last?.split(separator: "=")
    #expect(time?.first == "MONOTONIC_USEC")
    #expect(time?.last.flatMap { Int64($0) }.map { $0 > 0 } == true)
    #expect(await socket.next() == "READY=1")
    signals.yield(.terminate)
    #expect(lines(await socket.next()).first == "STOPPING=1")
    #expect(await code == .done)
  }

  @Test("the watchdog is fed at once and then at its interval, after every service has shown a pulse")
  func watchdog() async {
    let pulses = Locked(0)
    let group = group([Pulsing { pulses.withLock { $0 += 1 } }], watchdog: .seconds(15))
    async let code = group.run()
    var heard: [String] = []
    while !heard.contains("WATCHDOG=1") || !heard.contains(where: { $0.hasPrefix("READY=1") }) {
      heard.append(await socket.next())
    }
    #expect(pulses.current == 1)
    for count in 2...4 {
      await clock.waitForSleepers()
      clock.advance(by: .seconds(15))
      #expect(await socket.next() == "WATCHDOG=1")
      #expect(pulses.current == count)
    }
    signals.yield(.terminate)
    #expect(await code == .done)
  }

  @Test("a service that hangs lets the watchdog starve")
  func starving() async {
    let hangs = Event()
    let reached = Event()
    let group = group(
      [
        Pulsing {
          reached.happen()
          await hangs.wait()
        }
      ], watchdog: .seconds(15))
    async let code = group.run()
    #expect(lines(await socket.next()).first == "READY=1")
    await reached.wait()
    signals.yield(.terminate)
    // Nothing came between.
    #expect(lines(await socket.next()).first == "STOPPING=1")
    #expect(await code == .done)
    // Nor was the end of the group, which cuts the pulse short, taken for a proof of life.
    socket.post("END")
    #expect(await socket.next() == "END")
  }

  @Test("the interval is half of what the manager wants, and only where it is meant for this process")
  func interval() {
    #expect(GroupEnvironment.watchdogInterval(["WATCHDOG_USEC": "30000000"], process: 7) == .seconds(15))
    #expect(
      GroupEnvironment.watchdogInterval(["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7"], process: 7)
        == .seconds(1))
    for variables in [
      [:], ["WATCHDOG_USEC": "x"], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"],
    ] {
      #expect(GroupEnvironment.watchdogInterval(variables, process: 7) == nil)
    }
  }

  @Test("a manager that does not listen any more holds nothing up")
  func deafManager() async throws {
    let notifier = try #require(ServiceManagerNotifier(environment: ["NOTIFY_SOCKET": socket.path]))
    #expect(throws: SystemError.self) { while true { try notifier.notify("WATCHDOG=1") } }
    let group = group()
    async let code = group.run()
    signals.yield(.terminate)
    // Becoming ready could not be told, or the stop came first; either way it ends.
    _ = await code
  }
}

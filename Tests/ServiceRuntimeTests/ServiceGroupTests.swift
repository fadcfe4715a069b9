import CoreTypes
import PullboxTesting
import ServiceRuntime
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ServiceGroupTests {
  private final class Record: Sendable {
    private let entries = Mutex<[String]>([])
    var all: [String] { entries.withLock { $0 } }
    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
  }

  private struct Failure: Error {}

  private struct Recorded: Service {
    let name: String
    let record: Record
    var start: @Sendable () async throws -> Void = {}
    var run: (@Sendable () async throws -> Void)?
    var stop: @Sendable () async -> Void = {}

    func start() async throws {
      record.add("start \(name)")
      try await self.start()
    }

    func run() async throws {
      if let run { try await run() } else { await Event().wait() }
      record.add("end \(name)")
    }

    func stop() async {
      record.add("stop \(name)")
      await self.stop()
    }
  }

  private final class Harness: Sendable {
    let record = Record()
    let ready = Event()
    let clock = ManualMonotonicClock()
    let ended = Event()
    let signals: AsyncStream<ProcessSignal>.Continuation
    let environment: GroupEnvironment
    private let box = CodeBox()

    init() {
      let (stream, continuation) = AsyncStream.makeStream(of: ProcessSignal.self)
      signals = continuation
      var environment = GroupEnvironment(signals: stream, clock: clock, stopDeadline: .seconds(30))
      let box = box
      let ended = ended
      environment.endProcess = { code in
        box.add(code)
        ended.happen()
      }
      self.environment = environment
    }

    var endedWith: [ExitCode] { box.codes }

    func run(_ services: [any Service], reload: @escaping @Sendable () async -> Void = {}) async -> ExitCode {
      let ready = ready
      return await ServiceGroup(
        services, log: Log(output: { _ in }), environment: environment, whenReady: { ready.happen() },
        whenReloading: reload
      ).run()
    }
  }

  private final class CodeBox: Sendable {
    private let stored = Mutex<[ExitCode]>([])
    var codes: [ExitCode] { stored.withLock { $0 } }
    func add(_ code: ExitCode) { stored.withLock { $0.append(code) } }
  }

  @Test(
    "services start in order and stop in reverse, each only after the one above has ended",
    arguments: [
      ProcessSignal.terminate, .interrupt,
    ])
  func order(signal: ProcessSignal) async {
    let harness = Harness()
    async let code = harness.run(["a", "b", "c"].map { Recorded(name: $0, record: harness.record) })
    await harness.ready.wait()
    #expect(harness.record.all == ["start a", "start b", "start c"])
    harness.signals.yield(signal)
    #expect(await code == .done)
    #expect(
      harness.record.all == [
        "start a", "start b", "start c", "stop c", "end c", "stop b", "end b", "stop a", "end a",
      ])
    #expect(harness.endedWith == [])
  }

  @Test("a service that cannot start fails the group, and only those before it are stopped")
  func failingStart() async {
    let harness = Harness()
    let code = await harness.run([
      Recorded(name: "a", record: harness.record),
      Recorded(name: "b", record: harness.record, start: { throw Failure() }),
      Recorded(name: "c", record: harness.record),
    ])
    #expect(code == .failed)
    #expect(harness.record.all == ["start a", "start b", "stop a", "end a"])
    #expect(!harness.ready.hasHappened)
  }

  @Test("a service that fails stops the others, and the group fails")
  func failingRun() async {
    let harness = Harness()
    let ready = harness.ready
    let code = await harness.run([
      Recorded(name: "a", record: harness.record),
      Recorded(
        name: "b", record: harness.record,
        run: {
          await ready.wait()
          throw Failure()
        }),
    ])
    #expect(code == .failed)
    #expect(harness.record.all == ["start a", "start b", "stop b", "stop a", "end a"])
  }

  @Test("a service whose work is done does not stop the others; a group with nothing left to do stops")
  func endings() async {
    let harness = Harness()
    let ready = harness.ready
    let code = await harness.run([
      Recorded(name: "a", record: harness.record, run: { await ready.wait() }),
      Recorded(name: "b", record: harness.record, run: {}),
    ])
    #expect(code == .done)
    #expect(Set(harness.record.all.suffix(2)) == ["stop b", "stop a"])
  }

  @Test("a cancellation error after a stop is a clean end")
  func cancellationIsClean() async {
    let harness = Harness()
    async let code = harness.run([
      Recorded(
        name: "a", record: harness.record,
        run: {
          await Event().wait()
          try Task.checkCancellation()
        })
    ])
    await harness.ready.wait()
    harness.signals.yield(.terminate)
    #expect(await code == .done)
  }

  @Test("a stop that takes longer than its deadline ends the process")
  func deadline() async {
    let harness = Harness()
    let stopping = Event()
    let stopped = Event()
    async let code = harness.run([
      Recorded(
        name: "a", record: harness.record,
        stop: {
          stopping.happen()
          await stopped.wait()
        })
    ])
    await harness.ready.wait()
    harness.signals.yield(.terminate)
    await stopping.wait()
    await harness.clock.waitForSleepers()
    harness.clock.advance(by: .seconds(29))
    #expect(harness.endedWith == [])
    harness.clock.advance(by: .seconds(1))
    await harness.ended.wait()
    #expect(harness.endedWith == [.failed])
    stopped.happen()
    _ = await code
  }

  @Test(
    "a second signal ends the process at once",
    arguments: [
      (ProcessSignal.terminate, Int32(143)), (.interrupt, 130),
    ])
  func secondSignal(signal: ProcessSignal, code expected: Int32) async {
    let harness = Harness()
    let stopped = Event()
    async let code = harness.run([
      Recorded(name: "a", record: harness.record, stop: { await stopped.wait() })
    ])
    await harness.ready.wait()
    harness.signals.yield(.terminate)
    harness.signals.yield(signal)
    await harness.ended.wait()
    #expect(harness.endedWith == [ExitCode(rawValue: expected)])
    stopped.happen()
    _ = await code
  }

  @Test("the first signal after a failure lets the stop that is under way finish")
  func signalDuringFailure() async {
    let harness = Harness()
    let stopping = Event()
    let stopped = Event()
    let reloaded = Event()
    async let code = harness.run(
      [
        Recorded(
          name: "a", record: harness.record, run: { throw Failure() },
          stop: {
            stopping.happen()
            await stopped.wait()
          })
      ], reload: { reloaded.happen() })
    await stopping.wait()
    harness.signals.yield(.terminate)
    // Signals are taken one by one: once this one is through, so is the one before it.
    harness.signals.yield(.reload)
    await reloaded.wait()
    #expect(harness.endedWith == [])
    stopped.happen()
    #expect(await code == .failed)
  }

  @Test("a reload runs the callback, and nothing stops")
  func reload() async {
    let harness = Harness()
    let record = harness.record
    let twice = Event()
    async let code = harness.run(
      [Recorded(name: "a", record: record)],
      reload: {
        record.add("reload")
        if record.all.filter({ $0 == "reload" }).count == 2 { twice.happen() }
      })
    await harness.ready.wait()
    harness.signals.yield(.reload)
    harness.signals.yield(.reload)
    await twice.wait()
    #expect(record.all == ["start a", "reload", "reload"])
    harness.signals.yield(.terminate)
    #expect(await code == .done)
  }

  @Test("a stop asked for during the start lets no further service start")
  func stopDuringStart() async {
    let harness = Harness()
    let signals = harness.signals
    let code = await harness.run([
      Recorded(
        name: "a", record: harness.record,
        start: {
          signals.yield(.terminate)
          // The group has taken the signal once it sleeps towards the deadline.
          await harness.clock.waitForSleepers()
        }),
      Recorded(name: "b", record: harness.record),
    ])
    #expect(code == .done)
    #expect(harness.record.all == ["start a", "stop a", "end a"])
    #expect(!harness.ready.hasHappened)
  }

  @Test("what fails while becoming ready fails the group")
  func failingReady() async {
    let harness = Harness()
    let code = await ServiceGroup(
      [Recorded(name: "a", record: harness.record)], log: Log(output: { _ in }),
      environment: harness.environment, whenReady: { throw Failure() }
    ).run()
    #expect(code == .failed)
    #expect(harness.record.all == ["start a", "stop a", "end a"])
  }
}

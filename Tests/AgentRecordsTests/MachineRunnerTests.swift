import AgentTesting
import Commerce
import CoreTypes
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import AgentRecords

/// A machine of two states, with one action of each kind.
private struct Lamp: StateMachine {
  enum Event: Sendable { case switched, flickered, looked, broke }
  enum Action: Hashable, Sendable {
    case light, cool
    case retry(failures: Int)
    case stop
  }

  static func saveFailed(_ error: StepFailure, during event: Event) -> Event? { .broke }
  static func runnerAction(for action: Action) -> RunnerAction? {
    switch action {
    case .light, .cool: nil
    case .retry(let failures): .scheduleRetry(failures: failures, notBefore: nil)
    case .stop: .stopStep
    }
  }

  var isOn = false
  var failures = 0
  var retriesAfterFailedSave: Bool { failures > 0 }

  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .switched:
      isOn.toggle()
      return isOn ? [.light] : [.stop, .cool]
    case .flickered:
      failures += 1
      return [.retry(failures: failures)]
    case .looked: return []
    case .broke:
      isOn = false
      return [.cool]
    }
  }
}

private struct LampRecord: MachineRecord {
  let identifier: String
  var machine = Lamp()
  var note = ""
}

/// A disk that can be made to refuse.
private final class Disk: Sendable {
  struct Full: Error {}

  let records = Mutex<[LampRecord]>([])
  let isFull = Mutex(false)

  func save(_ record: LampRecord) throws {
    if isFull.withLock({ $0 }) { throw Full() }
    records.withLock { $0.append(record) }
  }

  var saved: [LampRecord] { records.withLock { $0 } }
}

@Suite struct MachineRunnerTests {
  private typealias Runner = MachineRunner<LampRecord, Int>

  private let clock = ManualMonotonicClock()
  private let disk = Disk()

  /// With the lamps `a` and `b`, which are on disk.
  private func makeRunner(jitter: Double = 0, seed: UInt64 = 1) -> Runner {
    let backoff = Backoff(initial: .seconds(8), factor: 2, cap: .seconds(60), jitter: jitter)
    var runner = Runner(
      retryPolicy: RetryPolicy(backoff: backoff), clock: clock, wakeUp: AsyncSignal(),
      generator: SplitMix(seed: seed)
    ) { [disk] in try disk.save($0) }
    for name in ["a", "b"] { runner.insert(LampRecord(identifier: name), context: 0, isSaved: true) }
    return runner
  }

  @Test("a transition is on disk before its actions are handed out") func order() throws {
    var runner = makeRunner()
    let outcome = runner.process(.switched, of: "a")
    let transition = try #require(outcome)
    #expect(transition.actions == [.light] && transition.hasChanged && transition.saveError == nil)
    #expect(transition.before.machine.isOn == false && transition.after.machine.isOn)
    #expect(disk.saved == [transition.after])
    #expect(runner["a"]?.record == transition.after && runner["b"]?.record.machine.isOn == false)
  }

  @Test("the change to the rest of the record is persisted with the transition") func change() throws {
    var runner = makeRunner()
    _ = runner.process(.switched, of: "a") { $0.note = "new" }
    #expect(disk.saved.map(\.note) == ["new"] && disk.saved.map(\.machine.isOn) == [true])
  }

  @Test("what changes nothing is not written, unless the record is not on disk yet") func unchanged() {
    var runner = makeRunner()
    let first = runner.process(.looked, of: "a")
    #expect(first?.hasChanged == false)
    #expect(disk.saved.isEmpty)
    runner.insert(LampRecord(identifier: "new"), context: 0, isSaved: false)
    let (second, third) = (runner.process(.looked, of: "new"), runner.process(.looked, of: "new"))
    #expect(second?.hasChanged == true && third?.hasChanged == false)
    #expect(disk.saved.map(\.identifier) == ["new"])
  }

  @Test("an event for a record that was never inserted does nothing") func unknown() {
    var runner = makeRunner()
    let outcome = runner.process(.switched, of: "c")
    #expect(outcome == nil)
    #expect(disk.saved.isEmpty)
  }

  @Test("a transition that cannot be persisted has not happened; the machine hears of it") func failedSave()
    throws
  {
    var runner = makeRunner()
    _ = runner.process(.switched, of: "a")
    disk.isFull.withLock { $0 = true }
    let outcome = runner.process(.flickered, of: "a") { $0.note = "lost" }
    let failed = try #require(outcome)
    #expect(failed.saveError is Disk.Full)
    #expect(failed.actions == [.cool])
    #expect(runner["a"]?.record.note == "" && runner["a"]?.record.machine.failures == 0)
    #expect(runner["a"]?.record.machine.isOn == false, "what the machine made of the failure")
    #expect(runner.timeToNextRetry == nil, "the retry of the lost transition is lost with it")
    disk.isFull.withLock { $0 = false }
    _ = runner.process(.looked, of: "a")
    #expect(disk.saved.map(\.machine.isOn) == [true, false], "the disk catches up with the next event")
  }

  @Test("a machine that needs a timer after a failed save gets one") func failedSaveRetry() throws {
    var runner = makeRunner()
    _ = runner.process(.flickered, of: "a")
    #expect(runner.dequeueDueRetries() == [])
    disk.isFull.withLock { $0 = true }
    _ = runner.process(.switched, of: "a")
    #expect(runner.timeToNextRetry == Runner.saveRetryDelay)
  }

  @Test("retries come back after the backoff's delay, the longest due first, and once") func retries() {
    var runner = makeRunner()
    _ = runner.process(.flickered, of: "b")
    _ = runner.process(.flickered, of: "b")
    #expect(runner.timeToNextRetry == .seconds(16))
    _ = runner.process(.flickered, of: "a")
    #expect(runner.timeToNextRetry == .seconds(8))
    clock.advance(by: .seconds(7))
    #expect(runner.dequeueDueRetries() == [])
    #expect(runner.timeToNextRetry == .seconds(1))
    clock.advance(by: .seconds(100))
    #expect(runner.timeToNextRetry == .zero)
    #expect(runner.dequeueDueRetries() == ["a", "b"])
    #expect(runner.dequeueDueRetries() == [])
    #expect(runner.timeToNextRetry == nil)
  }

  @Test("jitter comes from the generator that was given") func jitter() throws {
    var (first, same, other) = (
      makeRunner(jitter: 0.5, seed: 1), makeRunner(jitter: 0.5, seed: 1), makeRunner(jitter: 0.5, seed: 2)
    )
    _ = first.process(.flickered, of: "a")
    _ = same.process(.flickered, of: "a")
    _ = other.process(.flickered, of: "a")
    let delay = try #require(first.timeToNextRetry)
    #expect(delay >= .seconds(4) && delay <= .seconds(8))
    #expect(same.timeToNextRetry == delay && other.timeToNextRetry != delay)
  }

  @Test("a machine that went on has no retry pending") func superseded() {
    var runner = makeRunner()
    _ = runner.process(.flickered, of: "a")
    _ = runner.process(.looked, of: "a")
    #expect(runner.timeToNextRetry != nil)
    _ = runner.process(.switched, of: "a")
    #expect(runner.timeToNextRetry == nil)
  }

  @Test("a scheduled retry wakes the loop that waits for less") func wakeUp() async {
    var runner = makeRunner()
    _ = runner.process(.flickered, of: "a")
    await runner.wakeUp.wait(atMost: nil, clock: clock)
  }

  @Test("a change beside the machine counts only once it is on disk") func update() throws {
    var runner = makeRunner()
    try runner.update("a") { $0.note = "kept" }
    try runner.update("a") { $0.note = "kept" }
    #expect(disk.saved.map(\.note) == ["kept"])
    disk.isFull.withLock { $0 = true }
    #expect(throws: Disk.Full.self) { try runner.update("a") { $0.note = "lost" } }
    #expect(runner["a"]?.record.note == "kept")
  }

  /// A step that ends when it is cancelled.
  private static func step() -> (body: @Sendable () async -> Void, isCancelled: @Sendable () async -> Bool) {
    let (stream, continuation) = AsyncStream<Bool>.makeStream()
    return (
      {
        for await _ in AsyncStream<Int>.makeStream().stream {}
        continuation.yield(Task.isCancelled)
        continuation.finish()
      },
      { await stream.first { _ in true } ?? false }
    )
  }

  @Test("the machine's stop cancels its own step, which stays until it has ended") func stop() async {
    var runner = makeRunner()
    let (first, second) = (Self.step(), Self.step())
    runner.startStep(of: "a", first.body)
    runner.startStep(of: "b", second.body)
    _ = runner.process(.switched, of: "a")
    let stopped = runner.process(.switched, of: "a")
    #expect(stopped?.actions == [.cool])
    #expect(await first.isCancelled())
    #expect(runner["a"]?.step != nil && runner["b"]?.step?.isCancelled == false)
    runner.endStep(of: "a")
    #expect(runner["a"]?.step == nil)
    for step in runner.stopSteps() { await step.value }
    #expect(await second.isCancelled())
  }

  @Test("after the stop no step starts") func noStepAfterStop() async {
    var runner = makeRunner()
    let first = Self.step()
    runner.startStep(of: "a", first.body)
    let stopped = runner.stopSteps()
    #expect(stopped.count == 1 && runner.isStopping)
    #expect(await first.isCancelled())
    runner.startStep(of: "b") { Issue.record("a step ran after the stop") }
    #expect(runner["b"]?.step == nil)
  }
}

@Suite struct RetryPolicyTests {
  private func delay(failures: Int, notBefore: Duration? = nil, jitter: Double = 0, seed: UInt64 = 1)
    -> Duration
  {
    var generator = SplitMix(seed: seed)
    let policy = RetryPolicy(
      backoff: Backoff(initial: .seconds(1), factor: 2, cap: .seconds(60), jitter: jitter))
    return policy.delay(failures: failures, notBefore: notBefore, using: &generator)
  }

  @Test(
    "delays double up to the cap",
    arguments: zip([0, 1, 2, 3, 6, 7, 8, 1000], [1, 1, 2, 4, 32, 60, 60, 60]))
  func doubling(failures: Int, seconds: Int) {
    #expect(delay(failures: failures) == .seconds(seconds))
  }

  @Test("what the other side asked for counts, up to a day") func retryAfter() {
    for (told, least) in [(30, 30), (3600, 3600), (86_400, 86_400), (1 << 31, 86_400)] {
      let delay = delay(failures: 1, notBefore: .seconds(told))
      #expect(delay >= .seconds(least) && delay <= .seconds(Double(least + 1) * 1.25))
    }
    #expect(delay(failures: 7, notBefore: .seconds(30)) == .seconds(60))
  }

  @Test("chance takes away half at most, and only adds to what the other side asked for") func jitter() {
    var told: Set<Duration> = []
    for seed in 0..<200 as Range<UInt64> {
      let delay = self.delay(failures: 3, jitter: 0.5, seed: seed)
      #expect(delay >= .seconds(2) && delay <= .seconds(4))
      let requested = self.delay(failures: 1, notBefore: .seconds(99), jitter: 0.5, seed: seed)
      #expect(requested >= .seconds(99) && requested <= .seconds(124))
      told.insert(requested)
    }
    // Devices that were told the same time come at different ones.
    #expect(told.count > 190)
    #expect(told.max().map { $0 > .seconds(120) } == true)
    #expect(told.min().map { $0 < .seconds(103) } == true)
  }
}

@Suite("Downloads whose state cannot be saved")
struct UnsavedDownloadTests {
  struct DiskFull: Error {}

  private final class Disk: Sendable {
    let isFull = Mutex(false)
  }

  @Test("a download whose retry cannot be saved either is retried, again and again (K1)")
  func retriesAgain() throws {
    let (clock, disk) = (ManualMonotonicClock(), Disk())
    var runner = MachineRunner<DownloadRecord, Int>(
      retryPolicy: RetryPolicy(), clock: clock, wakeUp: AsyncSignal()
    ) { _ in
      if disk.isFull.withLock({ $0 }) { throw DiskFull() }
    }
    let record = DownloadRecord(
      identifier: .random(), sequence: 1, transaction: try #require(TransactionIdentifier("1")),
      product: try #require(ProductIdentifier("com.example.a")))
    runner.insert(record, context: 0, isSaved: true)
    _ = runner.process(.started, of: record.identifier)
    disk.isFull.withLock { $0 = true }
    var transition = runner.process(.granted, of: record.identifier)
    for _ in 1...3 {
      #expect(transition?.saveError != nil)
      #expect(runner[record.identifier]?.record.machine.reason == .storageFailure)
      let delay = try #require(runner.timeToNextRetry)
      clock.advance(by: delay)
      let due = runner.dequeueDueRetries()
      #expect(due == [record.identifier])
      transition = runner.process(.started, of: record.identifier)
    }
    #expect(runner.timeToNextRetry != nil)
  }

  @Test("a job is held, and released, while nothing can be saved: once each")
  func holds() throws {
    let disk = Disk()
    var runner = MachineRunner<ContentJobRecord, Int>(
      retryPolicy: RetryPolicy(), clock: ManualMonotonicClock(), wakeUp: AsyncSignal()
    ) { _ in
      if disk.isFull.withLock({ $0 }) { throw DiskFull() }
    }
    let terms = try FixturePackage.file(length: 100).terms
    let grant = try #require(GrantIdentifier(String(repeating: "0f", count: 16)))
    let job = ContentJobRecord(identifier: .random(), grant: grant, terms: terms)
    runner.insert(job, context: 0, isSaved: false)
    _ = runner.process(.started, of: job.identifier)
    disk.isFull.withLock { $0 = true }
    let held = runner.process(.held(.draining), of: job.identifier)
    #expect(held?.saveError != nil && held?.actions == [.reschedule])
    #expect(runner[job.identifier]?.record.machine.holds == [.draining])
    #expect(runner[job.identifier]?.record.machine.state == .waiting)
    let again = runner.process(.held(.draining), of: job.identifier)
    #expect(again?.actions == [])
    let released = runner.process(.released(.draining), of: job.identifier)
    #expect(released?.actions == [.reschedule])
    #expect(runner[job.identifier]?.isSaved == false && runner.timeToNextRetry == nil)
  }
}

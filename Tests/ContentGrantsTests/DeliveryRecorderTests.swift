import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryRecords

@Suite("Counts of bytes sent, in memory and in the database", .timeLimit(.minutes(1)))
struct DeliveryRecorderTests {
  private let file: StateFile
  private let database: Database
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_790_000_000_000))
  private let meters = MeterRegistry(timer: SystemMonotonicClock())
  private let content: ReleasedContent

  init() throws {
    file = try StateFile()
    database = try file.open()
    content = ReleasedContent(
      product: try #require(ProductIdentifier("com.example.a")), version: try #require(ContentVersion("1.0")),
      digest: .of([1]), length: ByteCount(1000), manifestDigest: .of([2]), cover: nil)
    let content = content
    try database.writeBlocking(locking: [.everything]) { connection in
      try ProductTable.put(
        Product(id: content.product, type: .nonConsumable), at: Timestamp(millisecondsSinceEpoch: 0),
        in: connection)
      try VersionTable.insert(
        VersionRecord(
          product: content.product, version: content.version, state: .released, length: content.length,
          digest: content.digest, manifestDigest: content.manifestDigest, pieces: 1, files: 1,
          created: Timestamp(millisecondsSinceEpoch: 0)),
        manifest: [], cover: nil, title: nil, in: connection)
    }
  }

  private var recorder: DeliveryRecorder {
    DeliveryRecorder(meters: meters, database: database, timer: SystemMonotonicClock(), clock: clock)
  }
  private var grants: GrantStore { GrantStore(database: database, clock: clock) }

  private func grant(_ device: String, transaction: String = "1") async throws -> GrantRecord {
    let basis = GrantStore.Basis(
      transaction: .sandbox(try #require(TransactionIdentifier(transaction)), content.product),
      content: content, owed: [])
    let device = Device(id: try #require(DeviceIdentifier(device)), publicKey: key.verificationKey)
    return try await grants.grant(on: basis, to: device).grant
  }

  private func meter(of grant: GrantRecord) -> GrantMeter {
    meters.meter(
      for: grant.handle, device: Ticket.tag(of: grant.device), content: grant.digest)
  }

  private let key = SigningKey()

  private func report(_ grant: GrantRecord) throws -> ReceivedCompletion {
    let report = CompletionReport(
      digest: grant.digest, version: grant.version, length: grant.length, placedAt: clock.now(),
      grant: grant.id,
      device: grant.device)
    return .signed(try JSONWebSignature(signing: APIJSON.encode(report), with: key))
  }

  @Test("what was sent is written down every five seconds, and by no look before")
  func interval() async throws {
    let timer = ManualMonotonicClock()
    let grant = try await grant("device-1")
    let recorder = DeliveryRecorder(meters: meters, database: database, timer: timer, clock: clock)
    let (database, number) = (database, grant.number)
    func recorded() async throws -> Int64 {
      try await database.read { try DeliveredBytesTable.bytes(of: number, in: $0).rawValue }
    }
    try await withThrowingTaskGroup { group in
      group.addTask { await recorder.run(log: Log(level: .error)) }
      await timer.waitForSleepers()
      #expect(timer.timeToNextSleeper == .seconds(5))
      meter(of: grant).didSend(400)
      timer.advance(by: .seconds(5) - .nanoseconds(1))
      for _ in 0..<100 { await Task.yield() }
      #expect(try await recorded() == 0)
      timer.advance(by: .nanoseconds(1))
      while try await recorded() == 0 { await Task.yield() }
      #expect(try await recorded() == 400)
      await timer.waitForSleepers()
      #expect(timer.timeToNextSleeper == .seconds(5))
      group.cancelAll()
    }
  }

  /// Completes the grant as ``GrantService`` does.
  private func complete(_ grant: GrantRecord) async throws -> GrantStore.CompletionOutcome {
    try await completion(of: grant)()
  }

  private func completion(
    of grant: GrantRecord
  ) throws -> @Sendable () async throws -> GrantStore.CompletionOutcome {
    let (recorder, grants, report) = (recorder, grants, try report(grant))
    return {
      try await recorder.recording(of: grant.digest, to: grant.device) {
        try await grants.complete(
          grant.id, with: report, for: GrantCredential(evidence: .nothing, method: "POST", path: ""),
          counting: $0)
      }
    }
  }

  private func stored(_ grant: GrantRecord) async throws -> Int64 {
    try await database.read { try DeliveredBytesTable.bytes(of: grant.number, in: $0).rawValue }
  }

  @Test(
    "a completion that was prepared before more was owed is prepared again, and finishes nothing too early")
  func owedMeanwhile() async throws {
    let grant = try await grant("a")
    meter(of: grant).didSend(1000)
    try await recorder.record()
    let basis = try await grants.completionBasis(of: grant.id)
    let debt = ObligationTable.Debt(grant)
    try await database.write(locking: [.transaction(grant.transactionKey)]) {
      try ObligationTable.add([grant.product], to: debt, in: $0)
    }
    let credential = GrantCredential(evidence: .nothing, method: "POST", path: "")
    let report = try report(grant)
    #expect(try await grants.complete(basis, with: report, for: credential) == nil)
    #expect(try await grants.find(grant.id).machine.state == .granted)
    let again = try await grants.completionBasis(of: grant.id)
    #expect(again.owed == [grant.product])
    #expect(try await grants.complete(again, with: report, for: credential) != nil)
    #expect(try await grants.find(grant.id).machine.state == .completed)
  }

  @Test("what was sent is known before it is written down, and written down once")
  func recorded() async throws {
    let grant = try await grant("a")
    meter(of: grant).didSend(300)
    #expect(recorder.unrecorded(grant.handle) == ByteCount(300))
    #expect(try await stored(grant) == 0)
    for _ in 0..<2 {
      try await recorder.record()
      #expect(recorder.unrecorded(grant.handle) == .zero)
      #expect(try await stored(grant) == 300)
    }
    meter(of: grant).didSend(7)
    try await recorder.record()
    #expect(try await stored(grant) == 307)
    #expect(meters.total == ByteCount(307))
  }

  @Test("thousands of grants are written down a few at a time, and none is left out")
  func batches() async throws {
    var all: [GrantRecord] = []
    for number in 0..<1203 {
      let grant = try await grant("d\(number)", transaction: "\(number)")
      meter(of: grant).didSend(number + 1)
      all.append(grant)
    }
    try await recorder.record()
    for (number, grant) in all.enumerated() { #expect(try await stored(grant) == Int64(number + 1)) }
  }

  @Test(
    "a completion counts what its device was sent a moment ago for any of its grants of the package, and no other"
  )
  func completion() async throws {
    let (first, second) = (try await grant("a"), try await grant("a", transaction: "2"))
    let other = try await grant("b", transaction: "3")
    meter(of: first).didSend(400)
    meter(of: second).didSend(600)
    meter(of: other).didSend(999)
    #expect(try await complete(first).grant.machine.name == .completed)
    #expect(try await [stored(first), stored(second), stored(other)] == [400, 600, 0])
    let problem = await #expect(throws: Problem.self) { _ = try await complete(other) }
    #expect(problem?.missingStep == CompletionStep.delivery.rawValue)
    #expect(try await stored(other) == 0)
    #expect(recorder.unrecorded(other.handle) == ByteCount(999))
    meter(of: other).didSend(1)
    #expect(try await complete(other).grant.machine.name == .completed)
    #expect(try await stored(other) == 1000)
  }

  @Test(
    "a completion that needs what is on its way into the database waits for it, whether it gets there or not",
    arguments: [true, false])
  func beingRecorded(isWritten: Bool) async throws {
    let grant = try await grant("a")
    meter(of: grant).didSend(1000)
    let drained = meters.drain()
    #expect(recorder.unrecorded(grant.handle) == ByteCount(1000))
    let completion = Task(operation: try completion(of: grant))
    while meters.waiterCount == 0 { await Task.yield() }
    if isWritten {
      try await database.write(locking: []) { try DeliveryRecorder.Unrecorded(sent: drained).write(in: $0) }
      meters.confirm(drained)
    } else {
      meters.restore(drained)
    }
    #expect(try await completion.value.grant.machine.name == .completed)
    #expect(try await stored(grant) == 1000)
    #expect(recorder.unrecorded(grant.handle) == .zero)
  }

  @Test(
    "an answer to other nodes waits for what others are writing down, whether it gets there or not",
    arguments: [true, false])
  func answer(isWritten: Bool) async throws {
    let grant = try await grant("a")
    meter(of: grant).didSend(1000)
    let drained = meters.drain()
    let recorder = recorder
    let recording = Task { try await recorder.recordAll() }
    while meters.waiterCount == 0 { await Task.yield() }
    #expect(try await stored(grant) == 0)
    if isWritten {
      try await database.write(locking: []) { try DeliveryRecorder.Unrecorded(sent: drained).write(in: $0) }
      meters.confirm(drained)
    } else {
      meters.restore(drained)
    }
    try await recording.value
    #expect(try await stored(grant) == 1000)
  }

  @Test("what is in the database counts once for a completion, although its recording was not confirmed yet")
  func countedOnce() async throws {
    let grant = try await grant("a")
    meter(of: grant).didSend(600)
    let drained = meters.drain()
    try await database.write(locking: []) { try DeliveryRecorder.Unrecorded(sent: drained).write(in: $0) }
    let completion = Task(operation: try completion(of: grant))
    while meters.waiterCount == 0 { await Task.yield() }
    meters.confirm(drained)
    let problem = await #expect(throws: Problem.self) { _ = try await completion.value }
    #expect(problem?.missingStep == CompletionStep.delivery.rawValue)
    #expect(try await stored(grant) == 600)
  }

  @Test("completions at the same moment, whose bytes any one of them writes down, are all accepted")
  func sameMoment() async throws {
    let grant = try await grant("a")
    for size in [1000, 7, 5] {
      meter(of: grant).didSend(size)
      try await withThrowingTaskGroup { group in
        for _ in 0..<32 {
          let complete = try completion(of: grant)
          group.addTask {
            let outcome = try await complete()
            #expect(outcome.grant.machine.name == .completed)
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(try await stored(grant) == 1012)
    #expect(recorder.unrecorded(grant.handle) == .zero)
  }

  @Test("a completion that is cancelled while it waits for a recording leaves nothing behind")
  func cancelledWait() async throws {
    let grant = try await grant("a")
    meter(of: grant).didSend(1000)
    let drained = meters.drain()
    let completion = Task(operation: try completion(of: grant))
    while meters.waiterCount == 0 { await Task.yield() }
    completion.cancel()
    await #expect(throws: CancellationError.self) { _ = try await completion.value }
    #expect(meters.waiterCount == 0)
    meters.restore(drained)
    #expect(try await complete(grant).grant.machine.name == .completed)
  }

  @Test(
    "what was sent counts once where its writer never learns whether that happened, whatever is asked for meanwhile",
    arguments: [DoubtfulEngine.Fate.happened, .lost], [false, true])
  func doubtfulWrite(fate: DoubtfulEngine.Fate, isCompletion: Bool) async throws {
    let grant = try await grant("a")
    let engine = DoubtfulEngine(on: database)
    let database = Database(engine: engine, longestWait: nil)
    let recorder = DeliveryRecorder(
      meters: meters, database: database, timer: SystemMonotonicClock(), clock: clock)
    meter(of: grant).didSend(600)
    engine.fates.withLock { $0 = [fate] }
    if isCompletion {
      await #expect(throws: DatabaseError.self) {
        try await recorder.recording(of: grant.digest, to: grant.device) { unrecorded -> Bool? in
          try await database.write(locking: []) { try unrecorded.write(in: $0) }
          return true
        }
      }
    } else {
      await #expect(throws: DatabaseError.self) { try await recorder.record() }
    }
    // As long as no server can be asked it is neither written again nor forgotten.
    engine.isAway.withLock { $0 = true }
    meter(of: grant).didSend(7)
    await #expect(throws: DatabaseError.self) { try await recorder.record() }
    #expect(recorder.unrecorded(grant.handle) == ByteCount(607))
    #expect(try await stored(grant) == (fate == .happened ? 600 : 0))
    engine.isAway.withLock { $0 = false }
    try await recorder.record()
    #expect(recorder.unrecorded(grant.handle) == .zero)
    #expect(try await stored(grant) == 607)
  }

  @Test("what could not be written down is kept")
  func failure() async throws {
    let grant = try await grant("a")
    meter(of: grant).didSend(5)
    let closed = try file.open()
    closed.close()
    await #expect(throws: DatabaseError.self) {
      try await DeliveryRecorder(
        meters: meters, database: closed, timer: SystemMonotonicClock(), clock: clock
      ).record()
    }
    #expect(recorder.unrecorded(grant.handle) == ByteCount(5))
    try await recorder.record()
    #expect(try await stored(grant) == 5)
  }

  @Test("what was sent while the database could not be written counts in the hour in which it was sent")
  func hourOfFailure() async throws {
    let grant = try await grant("a")
    let hours = DeliveredHours()
    let closed = try file.open()
    closed.close()
    func recorder(_ database: Database) -> DeliveryRecorder {
      DeliveryRecorder(
        meters: meters, database: database, timer: SystemMonotonicClock(), clock: clock, hours: hours)
    }
    let first = DeliveredHoursTable.hour(of: clock.now())
    meter(of: grant).didSend(5)
    await #expect(throws: DatabaseError.self) { try await recorder(closed).record() }
    clock.advance(by: .seconds(3600))
    meter(of: grant).didSend(7)
    try await recorder(database).record()
    let sent = try await database.read { connection in
      try [first, first + .seconds(3600)].map {
        try DeliveredHoursTable.bytes(in: $0, sentBy: 0, in: connection).rawValue
      }
    }
    #expect(sent == [5, 7])
  }

  @Test("after a run that died, counts of grants from before are excused for a week, and of later ones never")
  func lostCounts() async throws {
    let clock = clock
    func begin() async throws -> Bool {
      try await database.write(locking: [.everything]) {
        try ServerRunTable.begin(at: clock.now(), in: $0).previousDied
      }
    }
    func isExcused(_ grant: GrantRecord) async throws -> Bool {
      try await database.read {
        try ServerRunTable.mayHaveLostCounts(of: grant.number, made: grant.created, at: clock.now(), in: $0)
      }
    }
    #expect(try await !begin())
    let before = try await grant("a")
    #expect(try await !isExcused(before))
    clock.advance(by: .seconds(60))
    #expect(try await begin())
    clock.advance(by: .seconds(1))
    let after = try await grant("b", transaction: "2")
    #expect(try await isExcused(before))
    #expect(try await !isExcused(after))
    await #expect(throws: Problem.self) { _ = try await complete(after) }
    #expect(try await complete(before).grant.machine.name == .completed)
    clock.advance(by: ServerRunTable.grace)
    #expect(try await !isExcused(before))
  }

  @Test("a run that was ended excuses nothing, and a death is told once")
  func endedRuns() async throws {
    let now = clock.now()
    try await database.write(locking: [.everything]) { connection in
      let first = try ServerRunTable.begin(at: now, in: connection)
      try ServerRunTable.end(first.id, at: now, in: connection)
      let second = try ServerRunTable.begin(at: now, in: connection)
      #expect(!second.previousDied)
      let third = try ServerRunTable.begin(at: now, in: connection)
      #expect(third.previousDied)
      try ServerRunTable.end(third.id, at: now, in: connection)
      #expect(try !ServerRunTable.begin(at: now, in: connection).previousDied)
    }
  }
}

import Commerce
import CoreTypes
import Database
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import PaymentStores

/// Each transaction is finished, and none later than twice the outage and a minute.
@Suite("Stores that are slow, silent or lie", .timeLimit(.minutes(2)))
struct OutboxOutageTests {
  enum Outage: CaseIterable, Sendable {
    case hangs
    case resets
    case asksForEver
    case asksInMilliseconds
    case asksNegative

    var behavior: ScriptedStore.Behavior {
      switch self {
      case .hangs: .hangs
      case .resets: .resets
      case .asksForEver: .asksToWait(.seconds(Int64.max))
      case .asksInMilliseconds: .asksToWait(.seconds(30_000))
      case .asksNegative: .asksToWait(.seconds(-30))
      }
    }
  }

  private let file: StateFile
  private let database: Database
  private let timer = ManualMonotonicClock()

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func bound(_ outage: Duration) -> Duration { outage * 2 + .seconds(60) }

  private func finishesAll(
    _ count: Int, _ store: ScriptedStore, _ harness: OutboxHarness, within limit: Duration
  ) async throws {
    let isDone = try await harness.advance(upTo: limit) {
      try await harness.calls(.done).count == count
    }
    #expect(isDone)
    #expect(store.accepted.count == count)
  }

  @Test("a store that answers late is asked once", arguments: [1, 3, 9, 30])
  func late(seconds: Int) async throws {
    let delay = Duration.seconds(seconds)
    let store = ScriptedStore(timer: timer) { _ in .answers(after: delay) }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.run {
      let entry = try #require(try await harness.addClaimed())
      async let answer = harness.outbox.attempt(entry)
      await harness.waitForCall()
      try await finishesAll(1, store, harness, within: delay)
      let wasAnswered = await answer
      #expect(wasAnswered == (delay < .seconds(2)))
      #expect(store.calls.count == 1)
    }
  }

  @Test(
    "after an outage all is finished in time", arguments: Outage.allCases, [1, 10, 44, 100, 1000])
  func outage(_ outage: Outage, seconds: Int) async throws {
    let length = Duration.seconds(seconds)
    let behavior = outage.behavior
    let store = ScriptedStore(timer: timer) { $0 < length ? behavior : .answers(after: .zero) }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.run {
      try await harness.add(12)
      try await finishesAll(12, store, harness, within: bound(length))
      #expect(store.accepted.values.allSatisfy { $0 <= bound(length) })
    }
  }

  @Test("one call alone is finished in time as well", arguments: Outage.allCases, [1, 30, 300])
  func alone(_ outage: Outage, seconds: Int) async throws {
    let length = Duration.seconds(seconds)
    let behavior = outage.behavior
    let store = ScriptedStore(timer: timer) { $0 < length ? behavior : .answers(after: .zero) }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.run {
      try await harness.add(1)
      try await finishesAll(1, store, harness, within: bound(length))
    }
  }

  @Test("a thousand calls behind an outage are through soon after it, and the outage costs few calls")
  func thousand() async throws {
    let length = Duration.seconds(600)
    let store = ScriptedStore(timer: timer) { $0 < length ? .hangs : .answers(after: .zero) }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.run {
      try await harness.add(1000)
      _ = try await harness.advance(upTo: length - .milliseconds(1)) { false }
      // Eight at first, those that the first failures made room for, and a probe every half minute.
      #expect(store.calls.count <= 8 + 4 + 20)
      let attempts = try await harness.calls().map(\.attempts)
      #expect(attempts.max() == 1)
      #expect(attempts.reduce(0, +) <= 12)
      // The next probe, and the calls that had failed before the breaker opened.
      try await finishesAll(1000, store, harness, within: length + .seconds(30 + 5))
      #expect(store.mostRunning <= 8)
    }
  }

  @Test(
    "a retry by an operator is made at once, also between two probes, and its answer lets all others go on")
  func askedFor() async throws {
    let length = Duration.seconds(100)
    let store = ScriptedStore(timer: timer) { $0 < length ? .resets : .answers(after: .zero) }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.run {
      try await harness.add(12)
      try await harness.advance(by: length)
      #expect(harness.outbox.standing(of: .sandbox).isOpen)
      #expect(store.accepted.isEmpty, "the next probe is made after 120 seconds")
      let newest = try #require(try await harness.calls().first)
      #expect(try await harness.outbox.retry(newest.id, by: "ada").state == .waiting)
      try await finishesAll(12, store, harness, within: length)
      #expect(store.accepted.values.allSatisfy { $0 == length })
    }
  }

  @Test("while the store is away, each retry by an operator is one call, and none is made beside another")
  func askedForInVain() async throws {
    let store = ScriptedStore(timer: timer) { $0 < .seconds(40) ? .resets : .hangs }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.run {
      try await harness.add(12)
      try await harness.advance(by: .seconds(35))
      let ids = try await harness.calls().map(\.id)
      let before = store.calls.count
      for count in 1...2 {
        _ = try await harness.outbox.retry(ids[0], by: "ada")
        try await harness.settle()
        #expect(store.calls.count == before + count)
      }
      try await harness.advance(by: .seconds(6))
      for id in ids.prefix(3) {
        _ = try await harness.outbox.retry(id, by: "ada")
        try await harness.settle()
      }
      #expect(store.calls.count == before + 3, "the first of them hangs")
      #expect(store.calls.last == TransactionIdentifier.numbered(12))
    }
  }

  @Test("a store's trouble delays no other store")
  func others() async throws {
    let silent = ScriptedStore(timer: timer) { _ in .hangs }
    let good = ScriptedStore(.apple, timer: timer) { _ in .answers(after: .zero) }
    let harness = OutboxHarness([silent, good], database: database, timer: timer)
    try await harness.run {
      try await harness.add(50)
      try await harness.settle()
      try await harness.add(50, to: .apple, from: 100)
      try await finishesAll(50, good, harness, within: .zero)
      #expect(silent.accepted.isEmpty)
    }
  }

  @Test("a row that a store cannot take keeps its others from nothing")
  func poisoned() async throws {
    let store = ScriptedStore(timer: timer) { _ in .resets }
    let poison = Set((1...6).map { TransactionIdentifier.numbered($0) })
    store.behave { poison.contains($0) ? .resets : .answers(after: .zero) }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.run {
      try await harness.add(60)
      try await finishesAll(54, store, harness, within: .seconds(600))
    }
  }

  @Test(
    "a call behind twenty that the store always fails at is finished within a minute, and these wait on"
  )
  func poisonedBefore() async throws {
    let store = ScriptedStore(timer: timer) { _ in .resets }
    let poison = Set((1...20).map { TransactionIdentifier.numbered($0) })
    store.behave { poison.contains($0) ? .resets : .answers(after: .zero) }
    var options = Outbox.Options()
    options.maximumRefusals = 3
    let harness = OutboxHarness([store], database: database, timer: timer, options: options)
    try await harness.run {
      try await harness.add(20)
      // Each was called once.
      try await harness.advance(by: .seconds(1200))
      for number in 100..<110 {
        try await harness.advance(by: .seconds(7))
        let added = harness.elapsed
        try await harness.add(1, from: number)
        let isDone = try await harness.advance(upTo: added + .seconds(300)) {
          store.accepted[TransactionIdentifier.numbered(number)] != nil
        }
        #expect(isDone && harness.elapsed - added <= .seconds(60), "\(number): \(harness.elapsed - added)")
        try await harness.advance(by: .seconds(50))
      }
      #expect(try await harness.calls(.parked).isEmpty)
      #expect(try await harness.calls(.waiting).allSatisfy { $0.refusals == 0 })
      #expect(try await harness.calls(.done).count == 10)
      // The store is not taken for one that is away any more.
      try await harness.advance(by: .seconds(60))
      #expect(!harness.outbox.standing(of: .sandbox).isOpen)
    }
  }

  @Test("an outage of the store alone parks nothing, whatever it answered before")
  func nothingParked() async throws {
    let store = ScriptedStore(timer: timer) { time in
      (.seconds(100)..<(.seconds(1000))).contains(time) ? .resets : .answers(after: .zero)
    }
    var options = Outbox.Options()
    options.maximumRefusals = 2
    let harness = OutboxHarness([store], database: database, timer: timer, options: options)
    try await harness.run {
      try await harness.add(12)
      try await harness.advance(by: .seconds(110))
      try await harness.add(12, from: 100)
      try await finishesAll(24, store, harness, within: .seconds(1000 + 60))
      #expect(try await harness.calls(.parked).isEmpty)
    }
  }

  @Test("no more calls run at once than may")
  func concurrency() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .seconds(1)) }
    let harness = OutboxHarness(
      [store], database: database, timer: timer, options: Outbox.Options(concurrency: 3))
    try await harness.run {
      try await harness.add(30)
      try await finishesAll(30, store, harness, within: .seconds(10))
      #expect(store.mostRunning == 3)
      #expect(store.calls.count == 30)
    }
  }

  @Test("a wall clock that is set neither postpones a call nor hurries it", arguments: [-86_400, 86_400])
  func wallClock(seconds: Int) async throws {
    let store = ScriptedStore(timer: timer) {
      $0 < .seconds(10) ? .asksToWait(.seconds(20)) : .answers(after: .zero)
    }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.run {
      try await harness.add(1)
      try await harness.settle()
      #expect(store.calls.count == 1)
      harness.clock.advance(by: .seconds(seconds))
      try await harness.add(1, from: 2)
      harness.outbox.wake()
      try await harness.settle()
      #expect(store.calls.map(\.description) == ["t1", "t2"])
      _ = try await harness.advance(upTo: .seconds(19)) { false }
      #expect(store.calls.count == 2)
      let shown = try #require(try await harness.calls(.waiting).first?.nextAttempt)
      #expect(abs((shown - harness.clock.now()).inSeconds) <= 20)
      try await finishesAll(2, store, harness, within: .seconds(21))
    }
  }

  @Test("rows that a wall clock put far away are called soon after the next start")
  func setBackBetweenRuns() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = OutboxHarness([store], database: database, timer: timer)
    try await harness.add(3)
    let far = harness.clock.now() + .seconds(86_400)
    try await database.write(locking: [.everything]) { connection in
      try connection.execute("UPDATE outbox SET next_attempt = ?, refusals = id - 1", [.timestamp(far)])
    }
    try await harness.run {
      try await finishesAll(3, store, harness, within: .seconds(1))
    }
  }
}

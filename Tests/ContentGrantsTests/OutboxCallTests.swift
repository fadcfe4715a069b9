import Commerce
import CoreTypes
import Database
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentGrants

@Suite("Calls of the outbox, one by one", .timeLimit(.minutes(1)))
struct OutboxCallTests {
  private let file: StateFile
  private let database: Database
  private let timer = ManualMonotonicClock()

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func harness(
    _ store: ScriptedStore, options: Outbox.Options = Outbox.Options(),
    clock: ManualWallClock = ManualWallClock()
  ) -> OutboxHarness {
    OutboxHarness([store], database: database, timer: timer, clock: clock, options: options)
  }

  @Test("a request waits for the store as long as its patience; the next one joins the call")
  func patience() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .seconds(5)) }
    let harness = harness(store)
    try await harness.run {
      for seconds in [2, 4] {
        let entry = try #require(try await harness.addClaimed())
        async let isFinished = harness.outbox.attempt(entry)
        #expect(try await harness.advance(upTo: .seconds(seconds)) { harness.elapsed >= .seconds(seconds) })
        let wasFinished = await isFinished
        #expect(!wasFinished)
      }
      let entry = try #require(try await harness.addClaimed())
      async let isFinished = harness.outbox.attempt(entry)
      try await harness.advance(by: .seconds(1))
      let wasFinished = await isFinished
      #expect(wasFinished)
      #expect(store.calls.count == 1)
      #expect(try await harness.calls(.done).count == 1)
    }
  }

  @Test("an abandoned call leaves its row as it was")
  func abandoned() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .seconds(5)) }
    let harness = harness(store)
    try await harness.add(1)
    try await harness.run { try await harness.settle() }
    #expect(store.calls.count == 1)
    let call = try #require(try await harness.calls().first)
    #expect(call.state == .waiting)
    #expect(call.attempts == 0)
    #expect(call.lastError == nil)
    #expect(call.nextAttempt == call.created)
  }

  @Test("nobody waits for an outbox that has ended")
  func ended() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .seconds(5)) }
    let harness = harness(store)
    let entry = try #require(try await harness.addClaimed())
    try await harness.run {}
    #expect(await harness.outbox.attempt(entry) == false)
    #expect(try await harness.addClaimed(2) == nil)
  }

  @Test("a call that a device's report makes before its time puts the next one off no further")
  func early() async throws {
    let store = ScriptedStore(timer: timer) { _ in .resets }
    let harness = harness(store)
    try await harness.run {
      try await harness.add(1)
      try await harness.settle()
      let next = try await harness.calls().first?.nextAttempt
      let entry = try #require(try await harness.addClaimed())
      let wasAccepted = await harness.outbox.attempt(entry)
      #expect(!wasAccepted)
      #expect(store.calls.count == 2)
      let call = try #require(try await harness.calls().first)
      #expect(call.nextAttempt == next)
      #expect(call.attempts == 1)
    }
  }

  @Test("a call that was refused so often is parked, made no more, and made again when an operator asks")
  func parked() async throws {
    let store = ScriptedStore(timer: timer) { _ in .refuses("who are you?") }
    let harness = harness(store, options: Outbox.Options(maximumRefusals: 3))
    try await harness.run {
      try await harness.add(1)
      #expect(
        try await harness.advance(upTo: .seconds(120)) { try await harness.calls(.parked).count == 1 })
      let call = try #require(try await harness.calls().first)
      #expect(call.attempts == 3)
      #expect(call.lastError == "who are you?")
      #expect(try await harness.addClaimed() == nil)
      try await harness.advance(by: .seconds(86_400))
      #expect(store.calls.count == 3)
      store.behave { _ in .answers(after: .zero) }
      let retried = try await harness.outbox.retry(call.id, by: "ada")
      #expect(retried.state == .waiting)
      #expect(retried.refusals == 0)
      #expect(try await harness.advance(upTo: harness.elapsed) { try await harness.calls(.done).count == 1 })
      #expect(store.calls.count == 4)
    }
  }

  @Test("a row of an unknown kind and a damaged one are parked, and stop nothing else")
  func strange() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = harness(store)
    try await harness.add(6)
    try await database.write(locking: [.everything]) { connection in
      try connection.execute("UPDATE outbox SET kind = 'refund' WHERE id = 2")
      try connection.execute("UPDATE outbox SET subject = '../x' WHERE id = 4")
    }
    try await harness.run {
      #expect(try await harness.advance(upTo: .zero) { try await harness.calls(.done).count == 4 })
      let parked = try await harness.calls(.parked)
      #expect(parked.map(\.id) == [4, 2])
      #expect(parked.map(\.kind) == ["finish", "refund"])
      #expect(parked.map(\.transaction) == ["../x", "t2"])
      #expect(parked.allSatisfy { $0.lastError != nil && $0.attempts == 0 })
    }
  }

  @Test("rows that no store can be told, more of them than are taken at once, delay no row behind them")
  func manyStrange() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = harness(store, options: Outbox.Options(concurrency: 2))
    try await harness.add(40)
    try await database.write(locking: [.everything]) { connection in
      try connection.execute("UPDATE outbox SET kind = 'refund' WHERE id <= 18")
      try connection.execute("UPDATE outbox SET subject = '../' || id WHERE id > 18 AND id <= 37")
    }
    try await harness.run { () async throws in
      #expect(try await harness.advance(upTo: .seconds(1)) { try await harness.calls(.done).count == 3 })
      #expect(try await harness.calls(.parked).count == 37)
    }
  }

  @Test("a call that is dropped while it stands in line is not made; one that runs is not dropped")
  func droppedInLine() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .seconds(5)) }
    let harness = harness(store, options: Outbox.Options(concurrency: 1))
    try await harness.run {
      try await harness.add(3)
      try await harness.settle()
      #expect(store.calls.map(\.description) == ["t1"])
      let problem = await #expect(throws: Problem.self) {
        try await harness.outbox.drop(1, because: "a test", by: "ada")
      }
      #expect(problem?.code == .stateConflict)
      #expect(try await harness.outbox.drop(2, because: "a test", by: "ada").state == .dropped)
      #expect(try await harness.advance(upTo: .seconds(30)) { try await harness.calls(.done).count == 2 })
      #expect(store.calls.map(\.description) == ["t1", "t3"])
      #expect(try await harness.calls(.dropped).map(\.id) == [2])
      _ = try await harness.outbox.retry(2, by: "ada")
      #expect(try await harness.advance(upTo: .seconds(60)) { try await harness.calls(.done).count == 3 })
    }
  }

  @Test("a call that is not dropped, for want of a reason, keeps its turn")
  func notDropped() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .seconds(5)) }
    let harness = harness(store, options: Outbox.Options(concurrency: 1))
    try await harness.run {
      try await harness.add(2)
      try await harness.settle()
      let problem = await #expect(throws: Problem.self) {
        try await harness.outbox.drop(2, because: nil, by: "ada")
      }
      #expect(problem?.code == .requestMalformed)
      #expect(try await harness.advance(upTo: .seconds(10)) { try await harness.calls(.done).count == 2 })
    }
  }

  @Test(
    "an answer that cannot be written down is kept, and the store is not asked again for it",
    .enabled(if: !TestDatabase.isOnServer))
  func unwritable() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = harness(store)
    try await database.write(locking: [.everything]) { connection in
      try connection.execute(
        "CREATE TRIGGER full BEFORE UPDATE OF done ON outbox BEGIN SELECT RAISE(ABORT, 'no room'); END")
    }
    try await harness.run {
      try await harness.add(1)
      try await harness.advance(by: .seconds(300))
      #expect(try await harness.calls(.waiting).count == 1)
      try await database.write(locking: [.everything]) { try $0.execute("DROP TRIGGER full") }
      #expect(
        try await harness.advance(upTo: harness.elapsed + .seconds(31)) {
          try await harness.calls(.done).count == 1
        })
      #expect(store.calls.count == 1)
    }
  }

  @Test(
    "what a store says of a refusal is kept on one line, without what a terminal obeys, and not without end")
  func errorTexts() async throws {
    let text = "a\u{1B}[31m\nb\u{202E}" + String(repeating: "x", count: 5000)
    let store = ScriptedStore(timer: timer) { _ in .refuses(text) }
    let harness = harness(store)
    try await harness.run {
      try await harness.add(1)
      try await harness.settle()
      let error = try #require(try await harness.calls().first?.lastError)
      #expect(error.hasPrefix("a [31m b x"))
      #expect(error.unicodeScalars.count == 1000)
    }
  }

  @Test("two nodes make each call once; what one has claimed is the other's when the claim has ended")
  func nodes() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .seconds(3)) }
    let first = harness(store, options: Outbox.Options(node: "first"))
    let second = harness(store, options: Outbox.Options(node: "second"))
    try await first.run {
      try await second.run {
        try await first.add(40)
        second.outbox.wake()
        #expect(try await first.advance(upTo: .seconds(120)) { try await first.calls(.done).count == 40 })
        #expect(store.calls.count == 40)
        #expect(store.mostRunning > 8)
      }
    }
  }

  @Test(
    "a call that a node claimed before it died is made by another one two minutes later, and by itself at once"
  )
  func deadNode() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let dead = harness(store, options: Outbox.Options(node: "dead"))
    _ = try #require(try await dead.addClaimed(1))
    _ = try #require(try await dead.addClaimed(2))
    let other = harness(store, options: Outbox.Options(node: "other"))
    try await other.run {
      _ = try await other.advance(upTo: .seconds(119)) { false }
      #expect(store.calls.isEmpty)
      #expect(try await other.advance(upTo: .seconds(180)) { try await other.calls(.done).count == 2 })
    }
    _ = try #require(try await harness(store, options: Outbox.Options(node: "dead")).addClaimed(3))
    let again = harness(store, options: Outbox.Options(node: "dead"))
    try await again.run { () async throws in
      #expect(try await again.advance(upTo: .zero) { try await again.calls(.done).count == 3 })
    }
  }
}

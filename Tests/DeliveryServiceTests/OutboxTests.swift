import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Synchronization
import Testing

@testable import DeliveryService

@Suite("Store calls of the outbox", .timeLimit(.minutes(1)))
struct OutboxTests {
  private static let transaction = "2000000000000001"
  /// A completion is answered before the store has.
  private static let impatient = ["--store-patience", "1ms"]
  let package = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }

  @Test("a store that answers late is asked once, however often the device reports meanwhile")
  func late() async throws {
    try await ServerHarness.run(options: Self.impatient) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.holdsAnswers = true }
      for _ in 0..<4 {
        let answer = try await server.complete(grant)
        #expect(answer.status == 202)
        #expect(answer.value.state == .completed)
      }
      await server.store.waitForFinished()
      server.store.releaseAnswers()
      while try await server.status(grant).state != .finished { await Task.yield() }
      #expect(server.store.state.withLock { $0.finished } == [Self.transaction])
      #expect(try await server.outboxDepth() == 0)
    }
  }

  @Test("a shutdown during the call leaves it due, and the next start makes it")
  func shutdown() async throws {
    let directory = try TemporaryDirectory()
    try await ServerHarness.run(options: Self.impatient, in: directory) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.holdsAnswers = true }
      #expect(try await server.complete(grant).status == 202)
      await server.store.waitForFinished()
    }
    do {
      let database = try Database.open(path: directory.path + "/state/server.db", migrations: Migrations.all)
      defer { database.close() }
      let due = try await database.read { connection in
        try OutboxTable.due(at: ServerHarness.start, limit: 10, in: connection)
      }
      #expect(due.map(\.attempts) == [0])
    }
    try await ServerHarness.run(in: directory) { server in
      await server.store.waitForFinished()
      #expect(server.store.state.withLock { $0.finished } == [Self.transaction])
    }
  }

  @Test("a request waits for the store as long as its patience; the next one joins the call")
  func patience() async throws {
    let (timer, clock, store) = (ManualMonotonicClock(), ManualWallClock(), SlowStore())
    let database = try StateFileOwner()
    let id = try await database.add(Self.transaction, at: clock.now())
    let outbox = Outbox(
      grantStore: GrantStore(database: database.database, clock: clock), stores: [store.name: store],
      timer: timer, log: Log(level: .error))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await outbox.run() }
      for _ in 0..<2 {
        async let isFinished = outbox.attempt(id, patience: .seconds(2))
        // The sweep sleeps as well.
        await timer.waitForSleepers(2)
        timer.advance(by: .seconds(2))
        let wasFinished = try await isFinished
        #expect(!wasFinished)
      }
      async let isFinished = outbox.attempt(id, patience: .seconds(2))
      await timer.waitForSleepers(2)
      store.answer(StoreAnswer(answer: .accepted))
      let wasFinished = try await isFinished
      #expect(wasFinished)
      #expect(store.calls == 1)
      group.cancelAll()
    }
  }

  @Test("a grant that cannot be read puts its own call off, and not those behind it")
  func damagedGrant() async throws {
    try await ServerHarness.run { server in
      var grants: [GrantResponse] = []
      for number in 1...2 {
        try await server.publish(package + [UInt8(number)], as: "com.example.issue\(number)")
        let receipt = try server.store.receipt(
          of: [server.purchase(of: "com.example.issue\(number)", id: "\(number)")], device: server.device.id)
        let grant = try await server.grant("com.example.issue\(number)", receipt: receipt).value
        _ = try await server.fetch(grant)
        grants.append(grant)
      }
      server.store.state.withLock { $0.isDown = true }
      for grant in grants { #expect(try await server.complete(grant).status == 202) }
      let damaged = grants[0].grant.description
      try await server.server.collector.database.write(locking: [.everything]) {
        try $0.execute("UPDATE grants SET public_key = x'00' WHERE id = ?", [.text(damaged)])
        try $0.execute("UPDATE outbox SET next_attempt = 0")
      }
      server.store.state.withLock { $0.isDown = false }
      server.clock.advance(by: .seconds(3600))
      server.server.outbox.wake()
      while try await server.status(grants[1]).state != .finished { await Task.yield() }
      #expect(try await server.outboxDepth() == 1)
    }
  }

  @Test("an abandoned call leaves its row as it was")
  func abandoned() async throws {
    let (timer, clock, store) = (ManualMonotonicClock(), ManualWallClock(), SlowStore())
    let database = try StateFileOwner()
    let id = try await database.add(Self.transaction, at: clock.now())
    store.answer(StoreAnswer(answer: .abandoned))
    let outbox = Outbox(
      grantStore: GrantStore(database: database.database, clock: clock), stores: [store.name: store],
      timer: timer, log: Log(level: .error))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await outbox.run() }
      let isFinished = try await outbox.attempt(id, patience: .seconds(2))
      #expect(!isFinished)
      group.cancelAll()
    }
    let entry = try await database.database.read { try OutboxTable.find(id, in: $0) }
    #expect(entry?.attempts == 0)
    #expect(entry?.nextAttempt == clock.now())
  }

  @Test("a call that a device's report makes before its time puts the next one off no further")
  func early() async throws {
    let (timer, clock, store) = (ManualMonotonicClock(), ManualWallClock(), SlowStore())
    let database = try StateFileOwner()
    let due = clock.now() + .seconds(5)
    let id = try await database.add(Self.transaction, at: due)
    store.answer(StoreAnswer(answer: .unavailable(retryAfter: .seconds(600))))
    let outbox = Outbox(
      grantStore: GrantStore(database: database.database, clock: clock), stores: [store.name: store],
      timer: timer, log: Log(level: .error))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await outbox.run() }
      let isFinished = try await outbox.attempt(id, patience: .seconds(2))
      #expect(!isFinished)
      group.cancelAll()
    }
    let entry = try await database.database.read { try OutboxTable.find(id, in: $0) }
    #expect(entry?.nextAttempt == due)
  }
}

/// A database with rows of the outbox.
private struct StateFileOwner {
  private let file: StateFile
  let database: Database

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  func add(_ transaction: String, at date: Timestamp) async throws -> Int64 {
    let transaction = try #require(TransactionIdentifier(transaction))
    return try await database.write(locking: [.everything]) { connection in
      try OutboxTable.add(
        .finish, store: .sandbox, subject: transaction, firstAttempt: date, at: date, in: connection
      ).id
    }
  }
}

/// A store that answers when the test says what.
private final class SlowStore: PaymentStoreClient {
  private struct State {
    var calls = 0
    var answer: StoreAnswer?
    var waiting: [CheckedContinuation<StoreAnswer, Never>] = []
  }

  let name = StoreIdentifier.sandbox
  private let state = Mutex(State())

  var calls: Int { state.withLock { $0.calls } }

  /// Answers the calls that wait, and all later ones.
  func answer(_ answer: StoreAnswer) {
    let waiting = state.withLock { state in
      state.answer = answer
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: answer) }
  }

  func verify(_ proof: Proof, digest: SHA256Digest) async throws(StoreRefusal) -> VerifiedProof {
    throw .abandoned
  }

  func finish(_ transaction: TransactionIdentifier) async -> StoreAnswer {
    await withCheckedContinuation { continuation in
      let answer = state.withLock { state in
        state.calls += 1
        if state.answer == nil { state.waiting.append(continuation) }
        return state.answer
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }
}

import CoreTypes
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

@testable import Database

@Suite("Bodies that wait for their turn")
struct BodyQueueTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func open(limit: Int = 4096, longestWait: Duration? = nil) throws -> Database {
    try Database.open(
      path: directory.path("test.sqlite"),
      migrations: [Migration("rows", script: "CREATE TABLE rows (id)")],
      options: .init(durability: .normal, readers: 1, queueLimit: limit, longestWait: longestWait))
  }

  /// Runs `body` while the writer and the reader are held.
  private func holding(_ database: Database, _ body: () async throws -> Void) async throws {
    let gate = Gate()
    let begun = [Signal(), Signal()]
    try await withThrowingTaskGroup { group in
      group.addTask {
        try await database.write(locking: [], waiting: .unlimited) { _ in
          begun[0].set()
          gate.wait()
        }
      }
      group.addTask {
        try await database.read(waiting: .unlimited) { _ in
          begun[1].set()
          gate.wait()
        }
      }
      for signal in begun { await signal.wait() }
      defer { gate.open() }
      try await body()
    }
  }

  private func untilWaiting(_ count: Int, in database: Database) async {
    while database.waiting.writes < count { await Task.yield() }
  }

  private func insert(_ id: Int, into database: Database, _ limit: Database.Waiting = .limited)
    async throws
  {
    try await database.write(locking: [], waiting: limit) {
      try $0.execute("INSERT INTO rows VALUES (?)", [.integer(id)])
    }
  }

  private func ids(_ database: Database) async throws -> [Int64] {
    try await database.read(waiting: .unlimited) {
      try $0.query("SELECT id FROM rows ORDER BY id").map { try $0.integer("id") }
    }
  }

  @Test("one too many is refused at once") func limit() async throws {
    let database = try open(limit: 0)
    for _ in 0..<2 {
      let error = await #expect(throws: DatabaseError.self) { try await insert(1, into: database) }
      #expect(error?.code == .overloaded)
      #expect(error?.isRetryable == true)
      #expect(error?.temporaryFailure == .overloaded)
    }
    await #expect(throws: DatabaseError.self) { try await database.read { _ in } }
  }

  @Test("one that waits too long is refused while the thread is still busy, and was not begun")
  func deadline() async throws {
    let database = try open(longestWait: .milliseconds(20))
    try await holding(database) {
      let error = await #expect(throws: DatabaseError.self) { try await insert(1, into: database) }
      #expect(error?.code == .overloaded)
      let reading = await #expect(throws: DatabaseError.self) { try await database.read { _ in } }
      #expect(reading?.code == .overloaded)
    }
    try await insert(2, into: database, .unlimited)
    #expect(try await ids(database) == [2])
  }

  @Test("one that asks for it waits without an end") func unlimited() async throws {
    let database = try open(longestWait: .milliseconds(20))
    try await withThrowingTaskGroup { group in
      try await holding(database) {
        group.addTask { try await insert(1, into: database, .unlimited) }
        await untilWaiting(1, in: database)
        // Asked later, and refused first.
        await #expect(throws: DatabaseError.self) { try await insert(2, into: database) }
      }
      try await group.waitForAll()
    }
    #expect(try await ids(database) == [1])
  }

  @Test("a task that is cancelled takes back what waits") func cancellation() async throws {
    let database = try open()
    try await holding(database) {
      let task = Task { try await insert(1, into: database) }
      await untilWaiting(1, in: database)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(database.waiting.writes == 0)
    }
    try await insert(2, into: database)
    #expect(try await ids(database) == [2])
  }

  @Test("a task that was cancelled before is served: it may have something to clean up")
  func cancelledBefore()
    async throws
  {
    let database = try open()
    let task = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try await insert(1, into: database)
    }
    try await task.value
    #expect(try await ids(database) == [1])
  }
}

@Suite("Bodies that join others")
struct GatheringTests {
  private final class Body: QueuedBody, @unchecked Sendable {}

  private func body(joins: Bool = false, waitingAtMost wait: Duration? = nil) -> Body {
    Body(locks: [], waitingAtMost: wait, joinsOthers: joins)
  }

  /// Returns the bodies that a thread takes out of the queue until it is closed.
  private func taken(from queue: BodyQueue, _ body: () async -> Void) async -> [QueuedBody] {
    await withTaskGroup { group in
      group.addTask {
        await BlockingPool.shared.run {
          var taken: [QueuedBody] = []
          while let body = queue.take() { taken.append(body) }
          return taken
        }
      }
      await body()
      queue.close()
      return await group.next() ?? []
    }
  }

  private func untilEmpty(_ queue: BodyQueue) async {
    while queue.count > 0 { await Task.yield() }
  }

  @Test("wait for one that does not, and are taken in their order")
  func others() async {
    let queue = BodyQueue(limit: 10, gathering: .seconds(3600))
    let bodies = [body(joins: true), body(joins: true), body(), body(joins: true)]
    let taken = await taken(from: queue) {
      for body in bodies[..<2] { queue.append(body) }
      for _ in 0..<1000 { await Task.yield() }
      #expect(queue.count == 2)
      queue.append(bodies[2])
      await untilEmpty(queue)
      queue.append(bodies[3])
    }
    #expect(taken.map(ObjectIdentifier.init) == bodies.map(ObjectIdentifier.init))
  }

  @Test("are taken by themselves when their time is over, again and again")
  func alone() async {
    let queue = BodyQueue(limit: 10, gathering: .microseconds(100))
    let taken = await taken(from: queue) {
      for _ in 0..<200 {
        queue.append(body(joins: true))
        await untilEmpty(queue)
      }
    }
    #expect(taken.count == 200)
  }

  @Test("cost no body that comes at that moment its turn", .timeLimit(.minutes(1)))
  func races() async {
    let queue = BodyQueue(limit: 10_000, gathering: .microseconds(20))
    let taken = await taken(from: queue) {
      for number in 0..<5000 {
        queue.append(body(joins: number.isMultiple(of: 2)))
        if number.isMultiple(of: 7) { await untilEmpty(queue) }
      }
    }
    #expect(taken.count == 5000)
  }

  @Test("are counted no longer once they were taken back or refused")
  func removal() async {
    let queue = BodyQueue(limit: 10, gathering: .seconds(3600))
    let (one, other) = (body(joins: true), body())
    queue.append(one)
    #expect(queue.remove(one))
    let taken = await taken(from: queue) {
      queue.append(other)
      await untilEmpty(queue)
    }
    #expect(taken.map(ObjectIdentifier.init) == [ObjectIdentifier(other)])
  }

  @Test("of a database are written when nothing else is")
  func written() async throws {
    let directory = try TemporaryDirectory()
    let database = try Database.open(
      path: directory.path("test.sqlite"),
      migrations: [Migration("rows", script: "CREATE TABLE rows (id)")], options: .init(durability: .normal))
    try await database.write(locking: [], committing: .withOthers) {
      try $0.execute("INSERT INTO rows VALUES (1)")
    }
    let count = try await database.read {
      try $0.first("SELECT count(*) AS count FROM rows")?.integer("count")
    }
    #expect(count == 1)
  }
}

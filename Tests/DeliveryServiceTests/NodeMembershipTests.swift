import CoreTypes
import Database
import DeliveryRecords
import DeliveryTesting
import Monitoring
import PostgreSQLEngine
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DeliveryService

/// These need a database that several servers can share: `PULLBOX_TEST_DATABASE` with a URL.
@Suite("A server among those that share its database", .enabled(if: TestDatabase.isOnServer))
struct NodeMembershipTests {
  private let file: StateFile
  private let database: Database
  private let timer = ManualMonotonicClock()
  private let log = Log(level: .error)

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  /// The time of the database, at which all nodes look.
  private func serverTime() async throws -> Timestamp {
    try await database.read { try SQLDialect.serverTime(in: $0) }
  }

  private func join(
    _ name: String, wall: (any WallClock)? = nil, watch: Duration = .zero
  ) async throws -> NodeMembership {
    let (database, timer) = (database, timer)
    return try await BlockingPool.shared.run {
      try NodeMembership.join(
        as: name, database: database, wall: wall ?? SystemWallClock(), timer: timer, watch: watch)
    }
  }

  @Test(
    "a name whose process says that it is there is refused; one that is silent is taken, and its run has died"
  )
  func names() async throws {
    let first = try await join("a")
    #expect(!first.previousDied)
    let refusal = await refusal(beside: first) { _ = try await join("a", watch: .seconds(600)) }
    #expect(refusal?.subject == "node")
    let third = try await join("a")
    #expect(third.previousDied)
    #expect(third.number == first.number)
    await #expect(throws: NodeMembership.Replaced.self) { try await first.beat(log: log) }
    try await third.beat(log: log)
  }

  /// The refusal of `body`, beside which the node says that it is there.
  private func refusal(
    beside node: NodeMembership, _ body: () async throws -> Void
  ) async -> ConfigurationError? {
    let log = log
    let beating = Task {
      while !Task.isCancelled { try await node.beat(log: log) }
    }
    defer { beating.cancel() }
    return await #expect(throws: ConfigurationError.self) { try await body() }
  }

  @Test("one that left in order is followed at once, and its run has not died")
  func leaving() async throws {
    let first = try await join("a")
    try await first.leave()
    let second = try await join("a", watch: .seconds(600))
    #expect(!second.previousDied)
  }

  @Test("a node that was declared dead by others says so once it is there again, with another run")
  func revival() async throws {
    let (a, b) = (try await join("a"), try await join("b"))
    for _ in 0..<3 {
      try await b.beat(log: log)
      timer.advance(by: .seconds(10))
    }
    try await silence("a")
    try await b.beat(log: log)
    try await a.beat(log: log)
    let runs = try await database.read { connection in
      try connection.query("SELECT died FROM runs WHERE node = ? ORDER BY id", [.integer(a.number)]).map {
        try $0.optionalTimestamp("died") != nil
      }
    }
    #expect(runs == [true, false])
  }

  @Test(
    "a node whose own heartbeats did not reach the database judges no other one until they have for as long")
  func outage() async throws {
    let (a, b) = (try await join("a"), try await join("b"))
    for _ in 0..<3 {
      try await b.beat(log: log)
      timer.advance(by: .seconds(10))
    }
    // The database is away for a while, and back.
    timer.advance(by: .seconds(31))
    try await silence("a")
    try await b.beat(log: log)
    try await a.beat(log: log)
    let died = try await database.read { connection in
      try connection.query("SELECT died FROM runs WHERE died IS NOT NULL").count
    }
    #expect(died == 0)
  }

  @Test("a heartbeat behind the end of a node does not bring it back")
  func lateBeat() async throws {
    let node = try await join("a")
    try await node.leave()
    try await node.beat(log: log)
    let gone = try await database.read { connection in
      try connection.first("SELECT gone FROM nodes WHERE name = 'a'")?.optionalTimestamp("gone")
    }
    #expect(gone != nil)
  }

  private func silence(_ name: String) async throws {
    try await database.write(locking: []) { connection in
      try connection.execute(
        "UPDATE nodes SET heartbeat = heartbeat - 30001 WHERE name = ?", [.text(name)])
    }
  }

  @Test(
    "leases go by the clock of the database, whatever the node's own says; a node whose clock is off says so")
  func clocks() async throws {
    let wall = ManualWallClock(try await serverTime() + .seconds(3630))
    let node = try await join("a", wall: wall)
    #expect(node.unreadiness?.contains("clock differs by 1 h") == true)
    let time = try await serverTime()
    #expect(abs((node.clock.now() - time).milliseconds) < 60_000)
    wall.set(try await serverTime())
    try await node.beat(log: log)
    #expect(node.unreadiness == nil)
    // The manual timer moves on, and the database is not asked.
    timer.advance(by: .seconds(11))
    wall.advance(by: .seconds(11))
    #expect(node.unreadiness?.contains("was not reached for 11 s") == true)
  }
}

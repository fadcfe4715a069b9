import CoreTypes
import Database
import DeliveryTesting
import PullboxTesting
import Testing

@testable import DeliveryRecords

@Suite("Nodes that share a database: names, deaths, and what a death excuses")
struct NodeTests {
  private let file: StateFile
  private let database: Database
  private let start = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func take(
    _ name: String, for process: String, after earlier: String? = nil, at seconds: Int = 0
  ) async throws -> Int64? {
    let now = start + .seconds(seconds)
    return try await database.write(locking: []) {
      try NodeTable.take(name, for: process, at: "", running: "1", after: earlier, at: now, in: $0)
    }
  }

  @Test("a name keeps its number, and goes from a process to the one that has seen that process")
  func names() async throws {
    let first = try await take("a", for: "a 1")
    #expect(first != nil)
    #expect(try await take("b", for: "b 1") != first)
    #expect(try await take("a", for: "a 2") == nil, "it has not seen the first")
    #expect(try await take("a", for: "a 2", after: "a 1") == first)
    #expect(try await take("a", for: "a 3", after: "a 1") == nil, "the second was faster")
    let node = try await database.read { try NodeTable.find("a", in: $0) }
    #expect(node?.process == "a 2")
    #expect(node?.gone == nil)
  }

  @Test("who is silent for longer than thirty seconds is declared dead, once, and its leases are free")
  func deaths() async throws {
    let start = start
    _ = try await take("a", for: "a 1")
    _ = try await take("b", for: "b 1")
    try await database.write(locking: []) { connection in
      for (name, holder) in [("x", "a 1"), ("y", "a 1 request"), ("z", "a 10"), ("w", "b 1")] {
        _ = try LeaseTable.take(name, for: holder, until: start + .seconds(600), at: start, in: connection)
      }
    }
    try await database.write(locking: []) { connection in
      let late = start + .seconds(30)
      #expect(try NodeTable.beat("b", of: "b 1", at: late, in: connection))
      #expect(try NodeTable.declareDead(at: late, in: connection).isEmpty)
      let later = late + .milliseconds(1)
      #expect(try NodeTable.declareDead(at: later, in: connection).map(\.name) == ["a"])
      #expect(try NodeTable.declareDead(at: later, in: connection).isEmpty)
      #expect(try !NodeTable.beat("a", of: "a 1", at: later, in: connection))
      let left = try connection.query("SELECT name FROM leases ORDER BY name").map { try $0.text("name") }
      #expect(left == ["w", "z"])
      #expect(try NodeTable.revive("a", of: "a 1", at: later, in: connection))
      #expect(try NodeTable.beat("a", of: "a 1", at: later, in: connection))
      #expect(try !NodeTable.revive("a", of: "another", at: later, in: connection))
    }
  }

  @Test("a node owes an answer until it has answered later than it was asked: no heartbeat is one")
  func answers() async throws {
    let start = start
    let own = try #require(try await take("a", for: "a 1"))
    _ = try await take("b", for: "b 1")
    func owes(askedAt seconds: Int) async throws -> Bool {
      try await database.read {
        try NodeTable.anyOwesAnswer(besides: own, sentUntil: start + .seconds(seconds), in: $0)
      }
    }
    func write(_ body: @Sendable @escaping (borrowing Connection) throws -> Void) async throws {
      try await database.write(locking: []) { try body($0) }
    }
    #expect(try await owes(askedAt: 10))
    try await write { _ = try NodeTable.beat("b", of: "b 1", at: start + .seconds(20), in: $0) }
    #expect(try await owes(askedAt: 10))
    // It began to write before it was asked.
    for sent in [9, 10] {
      try await write {
        try NodeTable.answer(
          "b", of: "b 1", sentUntil: start + .seconds(sent), at: start + .seconds(20), in: $0)
      }
      #expect(try await owes(askedAt: 10))
    }
    try await write {
      try NodeTable.answer("b", of: "b 1", sentUntil: start + .seconds(11), at: start + .seconds(20), in: $0)
    }
    #expect(try await !owes(askedAt: 10))
    #expect(try await owes(askedAt: 12))
    // Another run of it has sent nothing by then, and later it owes what the one before had answered.
    _ = try await take("b", for: "b 2", after: "b 1", at: 13)
    #expect(try await !owes(askedAt: 12))
    #expect(try await owes(askedAt: 13))
    try await write { try NodeTable.leave("b", of: "b 2", at: start + .seconds(14), in: $0) }
    #expect(try await !owes(askedAt: 13))
  }

  @Test("a node that left in order is not declared dead, and a run that it ended has not died")
  func leaving() async throws {
    let start = start
    let number = try await take("a", for: "a 1")
    try await database.write(locking: []) { connection in
      let run = try ServerRunTable.begin(of: number, at: start, in: connection)
      try ServerRunTable.end(run.id, at: start, in: connection)
      try NodeTable.leave("a", of: "a 1", at: start, in: connection)
      #expect(try NodeTable.declareDead(at: start + .seconds(3600), in: connection).isEmpty)
      #expect(try !ServerRunTable.begin(of: number, at: start, in: connection).previousDied)
    }
  }

  @Test("the runs of nodes are told apart: a restart of one says nothing of another's run")
  func runs() async throws {
    let start = start
    func begin(of node: Int64?, heard: Timestamp? = nil) async throws -> Bool {
      try await database.write(locking: []) {
        try ServerRunTable.begin(of: node, heard: heard, at: start, in: $0).previousDied
      }
    }
    #expect(try await !begin(of: 1))
    #expect(try await !begin(of: 2))
    #expect(try await begin(of: 1, heard: start))
    #expect(try await !begin(of: nil))
    #expect(try await begin(of: 2, heard: start))
  }

  @Test(
    "a death excuses grants that nodes served, and those of its last minute; the only server's excuses all"
  )
  func excuses() async throws {
    let start = start
    let death = start + .seconds(1000)
    func die(_ node: Int64?, heard: Timestamp?) async throws {
      try await database.write(locking: []) { connection in
        _ = try ServerRunTable.begin(of: node, at: start, in: connection)
        _ = try ServerRunTable.noteDeath(of: node, heard: heard, at: death, in: connection)
      }
    }
    func isExcused(madeAt seconds: Int, at now: Timestamp? = nil) async throws -> Bool {
      try await database.read { connection in
        try ServerRunTable.mayHaveLostCounts(
          of: 7, made: start + .seconds(seconds), at: now ?? death, in: connection)
      }
    }
    try await die(1, heard: death - .seconds(30))
    #expect(try await !isExcused(madeAt: 909), "no byte of it was sent by that node")
    #expect(try await isExcused(madeAt: 910), "of its last minute")
    #expect(try await isExcused(madeAt: 1000))
    #expect(try await !isExcused(madeAt: 1001), "made behind its death")
    #expect(try await !isExcused(madeAt: 910, at: death + ServerRunTable.grace + .seconds(1)))
    try await die(nil, heard: nil)
    #expect(try await isExcused(madeAt: 1))
  }

  @Test(
    "a death excuses a grant that another node has served: the device may have gone on at the one that died")
  func excuseOfAnother() async throws {
    let start = start
    let death = start + .seconds(1000)
    let isExcused = try await database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO grants (number, id, handle, store, transaction_id, product, version, device, digest, length, manifest_digest,
          state, created)
        VALUES (7, 'g', ?, 's', '1', 'p', '1', 'd', ?, 100, ?, 'granted', ?)
        """, [.blob([7]), .blob([1]), .blob([2]), .timestamp(start)])
      try connection.execute(
        "INSERT INTO delivered_bytes (grant_number, node, bytes) VALUES (7, 2, 50)")
      _ = try ServerRunTable.begin(of: 1, at: start, in: connection)
      _ = try ServerRunTable.noteDeath(of: 1, heard: death, at: death, in: connection)
      return try ServerRunTable.mayHaveLostCounts(of: 7, made: start, at: death, in: connection)
    }
    #expect(isExcused)
  }
}

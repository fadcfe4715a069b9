import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryRecords
@testable import DeliverySchema

@Suite("Counters of the database")
struct CounterTests {
  private let file: StateFile

  init() throws {
    file = try StateFile()
  }

  private static let grant = """
    INSERT INTO grants (id, handle, store, transaction_id, product, version, device, digest, length, manifest_digest,
      state, environment, created)
    VALUES (lower(hex(randomblob(16))), randomblob(16), 'sandbox', ?, 'com.example.a', '1.0', 'd', x'00', 0, x'00', ?, ?, 0)
    """

  /// One change at random; some are rolled back.
  private func change(_ random: inout SplitMix, number: Int, in database: Database) async throws {
    struct Undone: Error {}
    let states = GrantMachine.State.all.map(\.stored)
    let (state, row, isUndone) = (
      states[Int.random(in: 0..<states.count, using: &random)], Int.random(in: 1...60, using: &random),
      Int.random(in: 0..<4, using: &random) == 0
    )
    let statement: (String, [SQLValue])
    switch Int.random(in: 0..<11, using: &random) {
    case 0, 1:
      statement = (
        Self.grant,
        [.text("\(number)"), .text(state), .choice(row % 2 == 0 ? StoreEnvironment.sandbox : .production)]
      )
    case 2, 3: statement = ("UPDATE grants SET state = ? WHERE number = ?", [.text(state), .integer(row)])
    case 4: statement = ("DELETE FROM grants WHERE number = ?", [.integer(row)])
    case 5:
      statement = (
        """
        INSERT INTO outbox (store, kind, subject, next_attempt, created, done, parked)
        VALUES (?, 'finish', ?, 0, 0, ?, ?)
        """,
        [
          .text(row % 3 == 0 ? "a" : "b"), .text("\(number)"), row % 2 == 0 ? .null : 7,
          row % 5 == 0 ? 7 : .null,
        ]
      )
    case 6: statement = ("UPDATE outbox SET done = iif(done IS NULL, 1, NULL) WHERE id = ?", [.integer(row)])
    case 7:
      statement = ("UPDATE outbox SET parked = iif(parked IS NULL, 1, NULL) WHERE id = ?", [.integer(row)])
    case 8:
      statement = (
        """
        INSERT INTO irregularities (kind, store, environment, subject, transaction_id, first_seen, last_seen, refused)
        VALUES (?, 'a', 'Sandbox', ?, 't', 0, 0, 0) ON CONFLICT (kind, store, environment, subject) DO NOTHING
        """, [.text(Irregularity.Kind.known[row % Irregularity.Kind.known.count].rawValue), .text("\(row)")]
      )
    case 9: statement = ("DELETE FROM irregularities WHERE id = ?", [.integer(row)])
    default: statement = ("DELETE FROM outbox WHERE id = ?", [.integer(row)])
    }
    do {
      try await database.write(locking: [.everything]) { connection in
        try connection.execute(statement.0, statement.1)
        if isUndone { throw Undone() }
      }
    } catch is Undone {}
  }

  @Test(
    "they are what counting says, after any changes, those that were rolled back included",
    .enabled(if: !TestDatabase.isOnServer))
  func random() async throws {
    let database = try file.open()
    var random = SplitMix(seed: 9)
    for number in 0..<600 { try await change(&random, number: number, in: database) }
    try await database.read { connection in
      let counted = try connection.query(
        """
        SELECT environment, CASE WHEN state LIKE 'revoked/%' THEN 'revoked' ELSE state END AS name, count(*) AS n
        FROM grants GROUP BY environment, name ORDER BY environment, name
        """
      ).map { "\(try $0.text("environment")) \(try $0.text("name")) \(try $0.integer("n"))" }
      #expect(counted.count == 10)
      let kept = try CounterTable.grants(in: connection)
      #expect(kept.map { "\($0.environment) \($0.state) \($0.count)" } == counted)
      let calls = try connection.query(
        """
        SELECT store, kind, sum(parked IS NULL) AS waiting, sum(parked IS NOT NULL) AS parked
        FROM outbox WHERE done IS NULL GROUP BY store, kind ORDER BY store, kind
        """
      ).map {
        "\(try $0.text("store")) \(try $0.text("kind")) \(try $0.integer("waiting")) \(try $0.integer("parked"))"
      }
      #expect(calls.count == 2)
      let keptCalls = try OutboxTable.counts(in: connection)
      #expect(keptCalls.map { "\($0.store) \($0.kind) \($0.waiting) \($0.parked)" } == calls)
      for kind in Irregularity.Kind.known {
        let row = try connection.first(
          "SELECT count(*) AS n FROM irregularities WHERE kind = ?", [.text(kind.rawValue)])
        let count = try CounterTable.irregularities(of: kind, in: connection)
        #expect(try row?.integer("n") == count)
        #expect(count > 0)
      }
    }
  }

  @Test(
    "what is to be confirmed is counted, its bytes too, and what was there before an update of the tables",
    .enabled(if: !TestDatabase.isOnServer))
  func unconfirmed() async throws {
    let old = try file.open(Array(Migrations.all.prefix { $0.name != Migrations.unconfirmedCounts.name }))
    func insert(_ grant: Int, proof: Int, into database: Database) throws {
      try database.writeBlocking(locking: [.everything]) { connection in
        try connection.execute(Self.grant, [.text("\(grant)"), .text("granted"), .text("Sandbox")])
        try connection.execute(
          """
          INSERT INTO unconfirmed_proofs (id, store, digest, proof, length, since) VALUES (?, 'a', randomblob(32), x'', 7, 0)
          ON CONFLICT (id) DO NOTHING
          """, [.integer(proof)])
        for _ in 0..<2 {
          try connection.execute(
            """
            INSERT INTO unconfirmed_grants (grant_number, proof, since) VALUES (?, ?, 0)
            ON CONFLICT (grant_number) DO NOTHING
            """, [.integer(grant), .integer(proof)])
        }
      }
    }
    for grant in 1...3 { try insert(grant, proof: grant == 3 ? 2 : 1, into: old) }
    old.close()
    let database = try file.open()
    func counted() throws -> CounterTable.Unconfirmed {
      try database.readBlocking { try CounterTable.unconfirmed(in: $0) }
    }
    #expect(try counted() == CounterTable.Unconfirmed(proofs: 2, length: ByteCount(14), grants: 3))
    try insert(4, proof: 3, into: database)
    #expect(try counted() == CounterTable.Unconfirmed(proofs: 3, length: ByteCount(21), grants: 4))
    try database.writeBlocking(locking: [.everything]) { try UnconfirmedTable.remove(1, in: $0) }
    #expect(try counted() == CounterTable.Unconfirmed(proofs: 2, length: ByteCount(14), grants: 2))
  }

  @Test(
    "what an earlier version of the server has left is counted once, when the tables are brought up to date",
    .enabled(if: !TestDatabase.isOnServer))
  func migration() async throws {
    let old = try file.open(Array(Migrations.all.prefix { $0.name != Migrations.numbers.name }))
    try old.writeBlocking(locking: [.everything]) { connection in
      for (last, state) in [("a", "granted"), ("b", "granted"), ("c", "revoked/completed")] {
        let id = String(repeating: "0", count: 31) + last
        try connection.execute(
          """
          INSERT INTO grants (id, store, transaction_id, product, version, device, digest, length, manifest_digest,
            state, created, delivered, revoked_by)
          VALUES (?, 'sandbox', ?, 'com.example.a', '1.0', 'd', x'00', 9, x'00', ?, ?, 5,
            CASE WHEN ? = 'c' THEN 'store' END)
          """, [.text(id), .text(id), .text(state), .integer(last == "a" ? 2 : 1), .text(last)])
        try connection.execute(
          "INSERT INTO grant_events (grant_id, state, at) VALUES (?, 'granted', 7)", [.text(id)])
      }
    }
    old.close()
    let database = try file.open()
    try await database.read { connection in
      #expect(
        try CounterTable.grants(in: connection).filter { $0.environment == "Sandbox" }
          .map { "\($0.state) \($0.count)" }
          == ["completed 0", "finished 0", "granted 2", "reading 0", "revoked 1"])
      let rows = try connection.query("SELECT id, number, revoked_by FROM grants ORDER BY number")
      #expect(try rows.map { try $0.text("id").suffix(1) } == ["b", "c", "a"])
      #expect(try rows.map { try $0.optionalText("revoked_by") } == [nil, "store", nil])
      for number in 1...3 as ClosedRange<Int64> {
        #expect(try DeliveredBytesTable.bytes(of: number, in: connection).rawValue == 5)
        #expect(try GrantTable.history(of: number, in: connection).count == 1)
      }
    }
  }
}

import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

/// A grant of a product that everybody buys must cost no more than one of a product that nobody does: what is
/// compared is the work of each statement, in operations of SQLite's virtual machine, which are the same on
/// every machine and for every run.
@Suite(
  "What a statement costs where one product has most of the grants", .enabled(if: !TestDatabase.isOnServer))
struct GrantCostTests {
  /// Whether SQLite knows how the rows are distributed, and so may choose another index.
  enum Statistics: CaseIterable {
    case none
    /// Statistics as the server gathers them: from the first rows of each index.
    case sampled
    case complete
  }

  private static let few = 100
  private static let many = 10_000
  /// The steps that a statement may take more with `many` grants than with `few`.
  private static let tolerance = 20

  private static let secret = "what renews each of these grants"

  private let product: ProductIdentifier
  private let content: ReleasedContent

  init() throws {
    product = try #require(ProductIdentifier("com.example.bestseller"))
    content = ReleasedContent(
      product: product, version: try #require(ContentVersion("1.0")), digest: .of([1]),
      length: ByteCount(1000), manifestDigest: .of([2]), cover: nil)
  }

  /// Every second grant is finished, and every tenth device's package was sent. Before them lie 500 products
  /// with one grant each, which are all that a sample of the indexes sees.
  private func fill(_ database: Database, grants count: Int, _ statistics: Statistics) throws {
    let insert = """
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
      INSERT INTO grants (id, handle, store, transaction_id, product, version, device, renewal_digest, digest,
        length, manifest_digest, state, created, placed)
      SELECT printf('%s%031x', ?2, n), CAST(printf('%s%07d00000000', ?2, n) AS BLOB), 'sandbox', ? || n,
        CASE WHEN ? THEN 'com.example.a' || n ELSE ? END, '1.0', ? || n, ?, ?, 1000, ?,
        CASE WHEN n % 2 = 0 THEN 'finished' ELSE 'granted' END,
        ? + n, CASE WHEN n % 2 = 0 THEN n END
      FROM numbers
      """
    let (product, content) = (product, content)
    try database.writeBlocking(locking: [.everything]) { connection in
      for (count, id, isOther) in [(500, "a", true), (count, "b", false)] {
        try connection.execute(
          insert,
          [
            .integer(count), .text(id), .text("\(id)-transaction-"), .boolean(isOther),
            .identifier(product), .text("\(id)-device-"),
            .digest(.of(Self.secret.utf8)), .digest(isOther ? .of([3]) : content.digest),
            .digest(content.manifestDigest), .integer(isOther ? 0 : 1000),
          ])
      }
      try connection.execute(
        "INSERT INTO products (id, document, type, created, changed) VALUES (?, '{}', 'non-consumable', 0, 0)",
        [.identifier(product)])
      try connection.execute(
        """
        INSERT INTO versions (product, version, ordering, state, percentage, digest, length, manifest_digest, pieces,
          files, created)
        VALUES (?, '1.0', '00000001', 'released', 100, ?, 1000, ?, 1, 1, 0)
        """, [.identifier(product), .digest(content.digest), .digest(content.manifestDigest)])
      try connection.execute(
        "INSERT INTO delivered_bytes (grant_number, node, bytes) SELECT number, 0, 1000 FROM grants WHERE number % 10 = 1"
      )
      // One that an operator revoked, so that the list of these has something to find.
      try connection.execute(
        "UPDATE grants SET state = 'revoked/granted', revoked_by = 'operator' WHERE device = 'b-device-51'")
      switch statistics {
      case .none: break
      case .sampled:
        _ = try connection.query("PRAGMA analysis_limit = 400")
        try connection.execute("ANALYZE")
      case .complete: try connection.execute("ANALYZE")
      }
    }
  }

  private func device(_ number: Int) throws -> DeviceIdentifier {
    try #require(DeviceIdentifier("b-device-\(number)"))
  }

  private func id(_ number: Int) throws -> GrantIdentifier {
    let digits = String(number, radix: 16)
    return try #require(GrantIdentifier("b" + String(repeating: "0", count: 31 - digits.count) + digits))
  }

  /// The grant's name for operators: the beginning of its handle.
  private func shortName(_ number: Int) throws -> GrantShortName {
    let digits = String(number)
    let text = "b" + String(repeating: "0", count: 7 - digits.count) + digits
    return try #require(GrantShortName(Hexadecimal.encode(Array(text.utf8))))
  }

  private func credential(_ secret: String?) -> GrantCredential {
    GrantCredential(evidence: .renewalSecret(secret ?? ""), method: "POST", path: "")
  }

  private func report(_ number: Int) throws -> ReceivedCompletion {
    .plain(
      CompletionReport(
        digest: content.digest, version: content.version, length: content.length,
        placedAt: Timestamp(millisecondsSinceEpoch: 1), grant: try id(number), device: try device(number)))
  }

  /// The costliest runs of `body`'s statements with that many grants, by their text.
  private func steps(
    _ count: Int, _ statistics: Statistics, _ body: (Database) async throws -> Void
  ) async throws -> [String: Int] {
    let file = try StateFile()
    let database = try file.open()
    try fill(database, grants: count, statistics)
    _ = try await database.read { $0.takeSteps() }
    try await body(database)
    let taken = try await database.read { $0.takeSteps() }
    return Dictionary(taken.map { ($0.sql, $0.steps) }, uniquingKeysWith: max)
  }

  /// The statements of `body` that take more with many grants than with few.
  private func growing(
    _ statistics: Statistics, _ body: (Database) async throws -> Void
  ) async throws -> [String] {
    let few = try await steps(Self.few, statistics, body)
    let many = try await steps(Self.many, statistics, body)
    #expect(!many.isEmpty)
    // SQLite would make a table of 100 KiB for what is returned, each time.
    #expect(many.keys.filter { $0.contains("RETURNING") } == [])
    return many.compactMap { sql, steps in
      guard let before = few[sql], steps <= before + Self.tolerance else {
        return "\(few[sql] ?? 0) -> \(steps): \(sql)"
      }
      return nil
    }.sorted()
  }

  @Test("a statement that reads all grants of a product is told from one that does not")
  func detection() async throws {
    let product = product
    let found = try await growing(.none) { database in
      try await database.read { connection in
        _ = try connection.query("SELECT count(*) FROM grants WHERE product = ?", [.identifier(product)])
        _ = try connection.query("SELECT id FROM grants WHERE id = ?", ["a"])
      }
    }
    #expect(found.count == 1)
  }

  @Test("a grant costs the same, of a new device and of one that has it", arguments: Statistics.allCases)
  func grant(statistics: Statistics) async throws {
    let found = try await growing(statistics) { database in
      let grants = GrantStore(database: database, clock: SystemWallClock())
      for (transaction, name) in [("b-transaction-7", "b-device-7"), ("new", "new"), ("new", "b-device-8")] {
        let basis = GrantStore.Basis(
          transaction: .sandbox(try #require(TransactionIdentifier(transaction)), product), content: content,
          owed: [product])
        let device = Device(id: try #require(DeviceIdentifier(name)))
        let issued = try await grants.grant(on: basis, to: device)
        let grant = issued.grant
        _ = try await grants.grantForTicket(grant.id, for: credential(issued.renewalSecret))
        let product = product
        try await database.read { connection in
          var all = try GrantTable.all(of: product, on: device.id, in: connection)
          for index in all.indices {
            all[index].publicKey = VerificationKey([UInt8](repeating: 1, count: 32))
          }
          let found = try GrantStore.standing(
            on: basis, among: all, of: device, under: GrantConditions(), in: connection)
          #expect(found?.id == grant.id)
        }
      }
    }
    #expect(found == [])
  }

  @Test("a completion costs the same, refused or not, and so does its end", arguments: Statistics.allCases)
  func completion(statistics: Statistics) async throws {
    let found = try await growing(statistics) { database in
      let grants = GrantStore(database: database, clock: SystemWallClock())
      let product = product
      let name = try #require(TransactionIdentifier("b-transaction-11"))
      let transaction = TransactionKey(store: .sandbox, environment: .sandbox, id: name)
      let owing = try device(11)
      try await database.write(locking: [.everything]) {
        try ObligationTable.add(
          [product], to: .init(transaction: transaction, device: owing), in: $0)
      }
      await #expect(throws: Problem.self) {
        _ = try await grants.complete(try id(13), with: try report(13), for: credential(Self.secret))
      }
      let now = SystemWallClock().now()
      let lease = OutboxLease(holder: "a", now: now, until: now + .seconds(120), stores: [.sandbox])
      let outcome = try await grants.complete(
        try id(11), with: try report(11), for: credential(Self.secret), lease: lease)
      let entry = try #require(outcome?.outbox)
      try await grants.accepted(entry)
      try await database.read { connection in
        _ = try TransactionTable.word(on: transaction, in: connection)
        _ = try GrantTable.all(paidBy: transaction, in: connection)
      }
      #expect(try await grants.status(of: try id(11), for: credential(Self.secret)).status.state == .finished)
    }
    #expect(found == [])
  }

  @Test("a page of the operators' list costs the same by each filter", arguments: Statistics.allCases)
  func lists(statistics: Statistics) async throws {
    let (product, device, name) = (product, try device(9), try shortName(90))
    let transaction = try #require(TransactionIdentifier("b-transaction-9"))
    let filters = [
      GrantFilter(), GrantFilter(product: product), GrantFilter(transaction: transaction),
      GrantFilter(device: device), GrantFilter(state: .granted), GrantFilter(state: .completed),
      GrantFilter(state: .revoked), GrantFilter(product: product, device: device),
      GrantFilter(product: product, transaction: transaction), GrantFilter(product: product, state: .revoked),
      GrantFilter(device: device, state: .granted),
      GrantFilter(product: product, transaction: transaction, device: device, state: .finished),
    ]
    let found = try await growing(statistics) { database in
      try await database.read { connection in
        for filter in filters {
          for place in [Int64.max, 590] {
            _ = try GrantTable.page(before: place, matching: filter, limit: 10, in: connection)
          }
        }
        _ = try GrantTable.holders(of: product, after: "", limit: 10, in: connection)
        _ = try GrantTable.revoked(in: connection)
        _ = try GrantTable.all(named: name, in: connection)
      }
    }
    #expect(found == [])
  }
}

import Commerce
import CoreTypes
import Crypto
import Database
import DeliverySchema
import DeliveryTesting
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Synchronization
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService
@testable import PaymentStores
@testable import RouteAccess

/// Every statement of the service, run by what the service does, on a database with a hundred grants of one product and
/// on one with a hundred thousand: what it costs, in operations of SQLite's virtual machine, must not grow with them.
@Suite("What every statement costs, with few grants of a product and with many", .serialized)
struct StatementCostTests {
  private static let few = 100
  private static let many = 100_000

  /// Statements that are run and may cost more where there are more rows, by how each begins, and why. Some go over many rows a piece at a
  /// time: the pieces are bounded, and their number grows with the rows. Others go over all that there is by what they are for: at the
  /// start, for a backup or a check, or for a number that is asked for seldom.
  private static let mayGrow: [(beginning: String, reason: String)] = [
    (
      "SELECT device, version FROM grants AS held",
      "what an update costs is asked of every device that holds the product"
    ),
    ("SELECT id, at FROM grant_events", "retention looks at what became old"),
    ("DELETE FROM grant_events", "retention forgets what became old"),
    ("SELECT id, done FROM outbox", "retention looks at what became old"),
    ("DELETE FROM outbox", "retention forgets what became old"),
    (
      "UPDATE outbox INDEXED BY outbox_waiting SET next_attempt",
      "once an hour, over the calls that were refused"
    ),
    ("UPDATE feeds SET epoch", "once, when a backup is restored"),
    (
      "SELECT good FROM remembered_proofs",
      "once an hour, outside the writer, over the proofs that are remembered"
    ),
    (
      "SELECT count(*) AS count FROM ( SELECT DISTINCT grants.store, grants.environment, grants.transaction_id FROM verification_failures",
      "over the failures of one version, when a device tells of another: a release stops itself before there are many"
    ),
    (
      "SELECT placed / 3600000 AS hour",
      "over the grants of one version, 20,000 at most, when an operator looks at its release"
    ),
    ("SELECT signed FROM notifications", "once an hour, over as many as are kept"),
    ("SELECT 0 AS day", "over the periods that were running, when a report of sales is asked for"),
    (
      "SELECT number, created FROM grants WHERE number",
      "finds a date by halves: as often as the number of grants can be halved"
    ),
    ("SELECT count(*) AS count FROM feeds", "all of them are counted once for a release"),
    ("SELECT handle FROM grants", "once at the start, over the grants that are revoked"),
    ("SELECT digest FROM content_stops", "once at the start, over the packages that are not sent any more"),
    (
      "SELECT CAST(coalesce(sum(reserved), 0) AS BIGINT) AS reserved FROM uploads",
      "once for what an upload reserves of the quota of several nodes, over the uploads that are kept"
    ),
    ("DELETE FROM uploads WHERE addressed", "once at the start, over the uploads that are open"),
    (
      "DELETE FROM uploads WHERE digest IS NULL",
      "once at the start of one server, over the parts that nodes before it have left"
    ),
    ("DELETE FROM upload_parts WHERE upload IN", "the same"),
    ("DELETE FROM leases WHERE holder = ? OR", "once for a node that died, over the leases that are held"),
    (
      "UPDATE outbox SET leased_by = NULL, leased_until = NULL WHERE done IS NULL AND parked IS NULL AND leased_by",
      "once for a node that died, over the calls that wait"
    ),
    ("UPDATE runs SET died = ? WHERE ended", "once after a restore, over the runs that are remembered"),
    (
      "SELECT DISTINCT digest, length FROM uploads",
      "a backup or a check goes over the uploads that are open"
    ),
    ("SELECT digest, max(length) AS length", "a backup or a check goes over all versions"),
    ("SELECT product, version FROM versions WHERE manifest_digest", "a check goes over all versions"),
    ("BEGIN IMMEDIATE", "once for each piece"), ("COMMIT", "once for each piece"),
    ("SAVEPOINT body", "once for each piece"), ("RELEASE body", "once for each piece"),
    ("ROLLBACK TO body", "once for each piece, where bodies run twice"),
  ]

  /// A grant of the bestseller for each device, half of them finished, as the tables have them; every
  /// twentieth is revoked, so that few have a full page of them as well. They are of the package that `com.example.issue1` 1.0 has.
  func fill(_ path: String, grants count: Int) throws {
    let database = try Database.open(path: path, migrations: Migrations.all)
    defer { database.close() }
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
        INSERT INTO grants (id, handle, store, transaction_id, product, version, device, digest, length, manifest_digest, state,
          created, placed, revoked_by)
        SELECT printf('%032x', n), CAST(printf('%016d', n) AS BLOB), 'sandbox', 't-' || n, versions.product, versions.version, 'd-' || n, digest, length,
          manifest_digest,
          CASE WHEN n % 2 = 0 THEN 'finished' WHEN n % 20 = 1 THEN 'revoked/granted' ELSE 'granted' END, n,
          CASE WHEN n % 2 = 0 THEN n END, CASE WHEN n % 20 = 1 THEN 'operator' END
        FROM numbers JOIN versions ON versions.product = 'com.example.issue1'
        """, [.integer(count)])
      try connection.execute(
        "INSERT INTO grant_events (grant_number, state, at) SELECT number, 'granted', created FROM grants")
      try connection.execute(
        "INSERT INTO delivered_bytes (grant_number, node, bytes) SELECT number, 0, length FROM grants")
      try connection.execute(
        """
        INSERT INTO obligations (store, environment, transaction_id, device, product)
        SELECT store, environment, transaction_id, device, product FROM grants
        """)
      try connection.execute(
        """
        INSERT INTO outbox (store, kind, subject, next_attempt, created, done)
        SELECT store, 'finish', transaction_id, 0, 0, created FROM grants WHERE state = 'finished'
        """)
      // A quarter of as many wait, after a refusal, and a quarter are parked, those of another store behind them.
      let start = SQLValue.timestamp(ServerHarness.start)
      try connection.execute(
        """
        INSERT INTO outbox (store, kind, subject, refusals, next_attempt, created, parked)
        SELECT CASE WHEN number % 8 < 4 THEN store ELSE 'other' END, 'consume', transaction_id, 1, ? + 600000, ?,
          CASE WHEN number % 4 = 1 THEN ? END
        FROM grants WHERE number % 2 = 1
        """, [start, start, start])
      try connection.execute(
        """
        INSERT INTO audit (at, actor, action, subject)
        SELECT ? - 100000000 + number, CASE WHEN number % 2 = 0 THEN 'ada' ELSE 'bob' END,
          CASE WHEN number % 3 = 0 THEN 'grant.revoke' ELSE 'product.change' END, 'com.example.other'
        FROM grants
        """, [start])
      try connection.execute(
        """
        INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, quantity,
          account, customer)
        SELECT store, environment, transaction_id, created, transaction_id, product, created, 1,
          'account-' || (number / 2), CAST(printf('%016d', number) AS BLOB)
        FROM grants
        """)
      // Each customer has a period of a subscription as well.
      try connection.execute(
        """
        INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, expires, quantity,
          customer)
        SELECT store, environment, 's-' || number, created, 's-' || number, 'com.example.subscription', created, created + 20, 1,
          CAST(printf('%016d', number) AS BLOB)
        FROM grants
        """)
      try connection.execute(
        """
        INSERT INTO customer_devices (customer, device, first_seen, last_seen, granted)
        SELECT CAST(printf('%016d', number) AS BLOB), device, ?, ?, 1 FROM grants
        """, [start, start])
      try connection.execute(
        """
        INSERT INTO irregularities (kind, store, environment, subject, transaction_id, first_seen, last_seen, refused)
        SELECT CASE WHEN number % 10 = 0 THEN 'many-payers' ELSE 'many-devices' END, store, environment, transaction_id,
          transaction_id, ?, ?, 1
        FROM grants
        """, [start, start])
      try connection.execute(
        """
        INSERT INTO remembered_proofs (store, digest, device, environment, transactions, good)
        SELECT store, randomblob(32), device, environment, transaction_id, ? FROM grants
        """, [start])
      // A proof of a store that the configuration does not know: as good as one that is away.
      let proof = try APIJSON.encode(Proof(store: "elsewhere", receipt: String(repeating: "A", count: 5000)))
      try connection.execute(
        """
        INSERT INTO unconfirmed_proofs (id, store, digest, proof, length, since)
        SELECT number, 'elsewhere', randomblob(32), ?, ?, 0 FROM grants WHERE number % 12 = 0
        """, [.blob(Array(proof)), .integer(proof.count)])
      try connection.execute(
        """
        INSERT INTO unconfirmed_grants (grant_number, proof, since)
        SELECT number, number, 0 FROM grants WHERE number % 12 = 0
        """)
      try connection.execute(
        """
        INSERT INTO feeds (number, device, store, environment, customer, epoch, sequence, used)
        SELECT number, device, store, environment, CAST(printf('%016d', number) AS BLOB), 1, 1, ? FROM grants
        """, [start])
      try connection.execute(
        """
        INSERT INTO feed_items (feed, product, kind, version, length, transaction_id, sequence)
        SELECT number, product, 'issue-available', version, length, transaction_id, 1 FROM grants
        """)
      try connection.execute(
        """
        INSERT INTO verification_failures (product, version, device, at)
        SELECT 'com.example.other', version, device, ? FROM grants
        """, [start])
      try connection.execute(
        """
        INSERT INTO notifications (store, uuid, type, signed, environment, effect, received)
        SELECT CASE WHEN number % 2 = 0 THEN 'apple' ELSE store END, 'n-' || number, 'TEST', ? - number, environment, 'none', ?
        FROM grants
        """, [start, start])
      try fillBesideLedger(connection)
    }
  }

  /// Writes what is known of customers and purchases beside the ledger, and what is told of them: something of every grant.
  private func fillBesideLedger(_ connection: borrowing Connection) throws {
    let start = SQLValue.timestamp(ServerHarness.start)
    for statement in [
      """
      INSERT INTO google_purchases (store, token_digest, kind, environment, replaced)
      SELECT store, randomblob(32), 'product', environment, ? FROM grants
      """,
      """
      INSERT INTO purchase_claims (store, environment, original_id, position, account, since)
      SELECT store, environment, transaction_id, 0, 'account-' || (number / 2), ? FROM grants
      """,
      """
      INSERT INTO account_feeds (account, store, environment, original_id, since)
      SELECT 'account-25', store, environment, 'f-' || number, ? FROM grants
      """,
      """
      INSERT INTO transferred_grants (grant_number, decided, excuses)
      SELECT number, 1, CASE WHEN number % 2 = 0 THEN ? END FROM grants
      """,
      "INSERT INTO consumption_consents (grant_number, since) SELECT number, ? FROM grants WHERE number <> 51",
    ] {
      try connection.execute(statement, [start])
    }
    try connection.execute(
      """
      INSERT INTO unlocked_issues (store, environment, transaction_id, product, is_back_issue)
      SELECT store, environment, 's-' || number, product, 0 FROM grants
      """)
    try connection.execute(
      """
      INSERT INTO customer_aliases (alias, customer)
      SELECT CAST(printf('a%015d', number) AS BLOB), CAST(printf('%016d', number) AS BLOB) FROM grants
      """)
  }

  /// The costliest of the runs of each statement between two looks.
  private final class Costs: Sendable {
    private let costs = Locked<[String: Int]>([:])
    private let database: Database

    init(_ database: Database) { self.database = database }

    var all: [String: Int] { costs.current }

    func forget() async throws { _ = try await database.read { $0.takeSteps() } }

    /// But at those that have one of these words: workers may run beside.
    func look(besides words: [String] = []) async throws {
      let taken = try await database.read { $0.takeSteps() }
      costs.withLock { costs in
        for (sql, steps) in taken where !words.contains(where: sql.contains) {
          costs[sql] = max(costs[sql] ?? 0, steps)
        }
      }
    }
  }

  /// An answer whose content does not matter here.
  private struct Ignored: Decodable, Sendable {}

  /// Asks for and does everything that operators and devices ask for and do.
  private func exercise(
    _ server: ServerHarness, _ timer: ManualMonotonicClock, grants count: Int, _ costs: Costs
  ) async throws {
    func step(_ body: () async throws -> Void) async throws {
      try await body()
      try await costs.look()
    }
    let operators = server.operatorAPI
    for query in Self.listQueries {
      for after in [nil, "60"] {
        try await step {
          _ = try await operators.get(
            "/v1/operator/deliveries",
            query: [("limit", "5")] + query + (after.map { [("after", $0)] } ?? []),
            as: Ignored.self)
        }
      }
    }
    for query in [
      [], [("actor", "operator")], [("action", "version.release")], [("product", "com.example.issue1")],
      [("actor", "operator"), ("action", "version.release")],
    ] as [[(String, String)]] {
      try await step { _ = try await operators.get("/v1/operator/audit", query: query, as: Ignored.self) }
    }
    try await lists(operators, step)
    // So that there is a page behind the first.
    try await step {
      _ = try await operators.call(
        "PUT", "/v1/operator/products/com.example.issue9", body: ProductDescription(), as: Ignored.self)
    }
    for query in [
      [], [("type", "non-consumable")], [("state", "released")], [("publication", "com.example.p")],
      [("order", "changed"), ("limit", "1")], [("order", "changed"), ("state", "released")],
    ]
      as [[(String, String)]]
    {
      try await step { _ = try await operators.get("/v1/operator/products", query: query, as: Ignored.self) }
    }
    try await step {
      _ = try await operators.get("/v1/operator/deliveries/sums", query: [], as: Ignored.self)
    }
    for (path, query) in [
      ("/products_v1.json", []), ("/v1/products", [("id", "com.example.issue1")]), ("/metrics", []),
    ] {
      try await step { try await ask(server, path, query) }
    }
    try await deliver(server, step)
    try await TableCalls(server.server.collector.database, grants: count, look: { try await costs.look() })
      .run()
    try await work(server, step)
    // With the time that passes the outbox works at all that waits.
    func stepBesideOutbox(_ body: () async throws -> Void) async throws {
      try await body()
      try await costs.look(besides: ["outbox", "BEGIN"])
    }
    try await outage(server, timer, stepBesideOutbox)
    try await publish(server, stepBesideOutbox)
  }

  private func ask(_ server: ServerHarness, _ path: String, _ query: [(String, String)] = []) async throws {
    let url = server.api.url(path, query: query)
    let status = try await server.client.send(ClientRequest(method: "GET", url: url)).status
    #expect(status == 200)
  }

  /// The lists that are short by their filters, with the rows that answer far from the newest.
  private func lists(_ operators: APIClient, _ step: Step) async throws {
    let (since, until) = (ServerHarness.start - .seconds(100_000), ServerHarness.start - .seconds(99_999))
    let times = [("since", since.description), ("until", until.description)]
    let limit = [("limit", "5")]
    for query in [
      [], [times[0]], [times[1]], times, times + [("actor", "ada")], times + [("action", "grant.revoke")],
      times + [("actor", "ada"), ("action", "grant.revoke")], times + [("product", "com.example.other")],
      [("after", "60")], [("after", "60"), times[0]],
    ] as [[(String, String)]] {
      try await step {
        _ = try await operators.get("/v1/operator/audit", query: limit + query, as: Ignored.self)
      }
    }
    let states = OutboxCall.State.allCases.map { [("state", $0.rawValue)] } + [[]]
    for state in states {
      for other in [
        [], [("store", "other")], [("kind", "consume")], [("store", "sandbox"), ("kind", "finish")],
      ] {
        for after in [[], [("after", "60")]] {
          try await step {
            _ = try await operators.get(
              "/v1/operator/outbox", query: limit + state + other + after, as: Ignored.self)
          }
        }
      }
    }
    for query in [[], [("kind", "many-payers")], [("after", "40"), ("kind", "many-devices")]] {
      try await step {
        _ = try await operators.get("/v1/operator/irregularities", query: limit + query, as: Ignored.self)
      }
    }
    for path in ["publications", "price-tiers", "uploads", "stores", "products/com.example.issue1/versions"] {
      try await step { _ = try await operators.get("/v1/operator/\(path)", as: Ignored.self) }
    }
  }

  private static let listQueries: [[(String, String)]] = {
    let product = ("product", "com.example.issue1")
    let version = ("version", "1")
    let states = ["granted", "completed", "finished", "revoked"].map { ("state", $0) }
    var queries: [[(String, String)]] = [[], [product], [product, version]]
    for state in states { queries += [[state], [product, state], [product, version, state]] }
    for other in [("transaction", "t-51"), ("device", "d-51")] {
      queries += [
        [other], [other, product], [other, version], [other, states[0]],
        [other, product, version, states[0]],
      ]
    }
    return queries
  }()

  private typealias Step = (() async throws -> Void) async throws -> Void

  /// From the entitlement to the end of the transaction, revocation in between.
  private func deliver(_ server: ServerHarness, _ step: Step) async throws {
    let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
    var feed: FeedReference?
    try await step {
      feed = try await server.api.call(
        "POST", "/v1/entitlements",
        body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: server.device),
        as: EntitlementsResponse.self
      ).value.feed
    }
    for _ in 0..<2 {
      try await step {
        guard let feed else { return }
        _ = try await server.api.call(
          "GET", feed.url, query: [("device", server.device.id.description), ("wait", "0")],
          body: EmptyBody?.none, headers: [("Authorization", "Bearer \(feed.token)")], as: FeedResponse.self)
      }
    }
    var grant: GrantResponse?
    for _ in 0..<2 { try await step { grant = try await server.grant(receipt: receipt).value } }
    guard let grant else { return }
    try await step { _ = try await server.status(grant) }
    try await step {
      _ = try await server.problem { _ = try await server.complete(grant) }
    }
    try await step {
      let status = try await server.fetch(grant).status
      #expect(status == 200)
    }
    try await step { try await server.server.recorder.record() }
    try await step {
      _ = try await server.owner(of: grant).call(
        "POST", "/v1/grants/\(grant.grant)/failure",
        body: VerificationFailure(digest: grant.download.digest, version: grant.download.version),
        as: CompletionResponse.self)
    }
    for _ in 0..<2 { try await step { _ = try await server.complete(grant) } }
    let cancelled = try server.store.receipt(
      of: [server.purchase(cancelled: server.clock.now())], device: server.device.id)
    for proof in [cancelled, receipt] {
      try await step { _ = try? await server.grant(receipt: proof) }
    }
  }

  /// Two proofs that are served while their store is away, of which it vouches for one when it is back.
  private func outage(_ server: ServerHarness, _ timer: ManualMonotonicClock, _ step: Step) async throws {
    let receipts = try ["2000000000000002", "2000000000000003"].map {
      try server.store.receipt(of: [server.purchase(id: $0)], device: server.device.id)
    }
    for receipt in receipts { try await step { _ = try await server.grant(receipt: receipt) } }
    for (receipt, answer) in zip(receipts, [nil, VerifyReceiptResponse(status: .notAuthentic)]) {
      timer.advance(by: VerdictCache.lifetime)
      server.store.state.withLock { $0.isDown = true }
      for _ in 0..<2 { try await step { _ = try await server.grant(receipt: receipt) } }
      try await step { try await server.server.confirmation.pass() }
      server.store.state.withLock { state in (state.isDown, state.answer) = (false, answer) }
      timer.advance(by: CircuitBreaker.longestPause)
      try await step { try await server.server.confirmation.pass() }
      server.store.state.withLock { $0.answer = nil }
    }
  }

  /// From the upload to the withdrawal.
  private func publish(_ server: ServerHarness, _ step: Step) async throws {
    try await step { try await server.approve([1, 2, 3, 4], "1.1") }
    try await step {
      _ = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.issue1/versions/1.1/costs", query: [("percentage", "1")],
        as: Ignored.self)
    }
    try await step { try await server.release("1.1", to: 1) }
    try await step { try await server.release("1.1") }
    // The cache may have read the catalog before the statements were counted.
    try await step { try await ask(server, "/products_v1.json") }
    try await step { try await server.step("withdraw", "1.1") }
  }

  /// Does the work that goes on by itself.
  private func work(_ server: ServerHarness, _ step: Step) async throws {
    // All that is there is young: what is forgotten costs what it was worth.
    try await step { try await server.server.retention.run() }
    try await step { _ = try await server.server.collector.run(isDryRun: false, by: "ada") }
    try await step { _ = try await server.server.grants.grantStore.settleLeftovers(after: nil, limit: 200) }
    try await step { _ = try await server.operatorAPI.get("/v1/operator/scrub", as: Ignored.self) }
    server.clock.advance(by: .seconds(31 * 86_400))
    try await step { try await server.server.scrubber.runRound() }
  }

  private func costs(grants count: Int) async throws -> [String: Int] {
    let directory = try TemporaryDirectory()
    try await ServerHarness.run(in: directory, timer: ManualMonotonicClock()) { server in
      try await server.publish([1, 2, 3])
    }
    try fill(directory.path("state/server.db"), grants: count)
    let found = Locked<[String: Int]>([:])
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(in: directory, timer: timer) { server in
      let costs = Costs(server.server.collector.database)
      try await costs.forget()
      try await exercise(server, timer, grants: count, costs)
      let all = costs.all
      found.withLock { $0 = all }
    }
    return found.current
  }

  @Test("no statement costs more than twice as much", .enabled(if: !TestDatabase.isOnServer))
  func growth() async throws {
    let few = try await costs(grants: Self.few)
    let many = try await costs(grants: Self.many)
    #expect(many.count > 60)
    let growing = many.compactMap { sql, steps -> String? in
      if Self.mayGrow.contains(where: { Self.words(sql).hasPrefix($0.beginning) }) { return nil }
      let before = few[sql] ?? 0
      return steps <= max(2 * before, 200) ? nil : "\(before) -> \(steps): \(sql)"
    }
    #expect(growing.sorted() == [])
    let all = Set(few.keys).union(many.keys)
    let unseen = try unseen(in: all)
    #expect(unseen == [])
    let unneeded = Self.mayGrow.map(\.beginning).filter { beginning in
      !all.contains { Self.words($0).hasPrefix(beginning) }
    }
    #expect(unneeded == [])
  }

  /// A text that is a part of a statement whose other part is run as well.
  private static let fragment = "SELECT number FROM (SELECT number FROM grants"

  /// The texts of statements in the service's source that were not run.
  private func unseen(in statements: Set<String>) throws -> [String] {
    let seen = statements.map(Self.words)
    let literals = Set(try SourceStatements.all().map { $0.map(Self.words) })
    #expect(literals.count > 200)
    let whole = literals.filter { $0.first != Self.fragment }
    #expect(whole.count == literals.count - 1)
    return whole.filter { parts in !seen.contains { Self.isFilled(parts, in: $0) } }
      .map { $0.joined(separator: " … ") }.sorted()
  }

  /// Whether the statement is those parts in their order, with something or nothing in between.
  private static func isFilled(_ parts: [String], in statement: String) -> Bool {
    guard let first = parts.first, let last = parts.last, statement.hasPrefix(first) else { return false }
    guard parts.count > 1 else { return statement == first }
    var rest = statement.dropFirst(first.count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let range = rest.range(of: part) else { return false }
      rest = rest[range.upperBound...]
    }
    return rest.hasSuffix(last)
  }

  private static func words(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}

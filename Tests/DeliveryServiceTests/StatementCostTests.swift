import Commerce
import CoreTypes
import Crypto
import Database
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import Synchronization
import Testing

@testable import DeliveryService

/// Every statement of the service, run by what the service does, on a database with a hundred grants of one product and
/// on one with a hundred thousand: what it costs, in operations of SQLite's virtual machine, must not grow with them.
@Suite("What every statement costs, with few grants of a product and with many", .serialized)
struct StatementCostTests {
  private static let few = 100
  private static let many = 100_000

  /// Statements that nothing here runs, by how each begins, and why that is no loss. One that begins like another is named whole.
  private static let notRun: [(beginning: String, reason: String)] = [
    (
      "SELECT 1 AS one FROM versions WHERE digest = ? AND (? =",
      "by the digest's indexes; CondemnedPackageTests run it"
    ),
    (
      "SELECT 1 AS one FROM versions WHERE digest = ? AND (? OR",
      "by the digest's index; PackageScrubberTests run it"
    ),
    ("SELECT 1 FROM notifications", "by the notification's name; NotificationTests run it"),
    ("INSERT INTO notifications", "by the notification's name; NotificationTests run it"),
    (
      "SELECT type, subtype, signed, received FROM notifications",
      "one row by its index; NotificationTests run it"
    ),
    ("DELETE FROM price_tiers", "by its name; PriceTierTests run it"),
    ("INSERT INTO price_tiers", "by its name; PriceTierTests run it"),
    ("SELECT 1 FROM price_tiers", "by its name; PriceTierTests run it"),
    (
      "SELECT count(*) AS count FROM price_tiers",
      "over the tiers, which are bounded; PriceTierTests run it"
    ),
    ("SELECT document FROM price_tiers ORDER", "by its name; PriceTierTests run it"),
    ("SELECT document FROM price_tiers WHERE", "by its name; PriceTierTests run it"),
    ("SELECT 1 FROM products WHERE price_tier", "one row by its index; PriceTierTests run it"),
    ("UPDATE catalogue_state SET price_tiers", "one row; PriceTierTests run it"),
    ("INSERT INTO google_purchases", "by the token's digest; GoogleStoreTests run it"),
    ("SELECT * FROM google_purchases", "by the token's digest; GoogleStoreTests run it"),
    ("INSERT INTO product_reviews", "by the product's name; ProductReviewTests run it"),
    ("UPDATE product_reviews", "by the product's name; ProductReviewTests run it"),
    (
      "SELECT number FROM grants WHERE product = ? AND state",
      "the end of a bounded page by its index, when a policy closes issues; ClosingTests run it"
    ),
    (
      "SELECT grants.* FROM grants JOIN transactions",
      "such a page, each by an index; ClosingTests run it"
    ),
    ("SELECT 1 FROM versions WHERE product = ? UNION", "one row by its index; SaleTests run it"),
    (
      "SELECT 1 FROM transactions WHERE product",
      "outside the writer, over the ledger, when a product is deleted; SaleTests run it"
    ),
    (
      "SELECT DISTINCT product FROM transactions WHERE product IN",
      "over the ledger, once for an import that changes types; ProductTypeTests run it"
    ),
    (
      "SELECT 1 FROM grants WHERE store = ? AND environment = ? AND transaction_id = ? AND product",
      "over the grants of one transaction; ProductTypeTests run it"
    ),
    (
      "SELECT 1 FROM products JOIN grants",
      "the products of one publication, each by an index, when a subscription is deleted; SaleTests run it"
    ),
    ("DELETE FROM products", "by its name; SaleTests run it"),
    ("INSERT INTO removed_products", "by its name; SaleTests run it"),
    ("INSERT INTO product_screenshots", "by the product's name; ProductReviewTests run it"),
    ("SELECT 1 FROM product_screenshots", "by the product's name; ProductReviewTests run it"),
    (
      "SELECT media_type, digest, content FROM product_screenshots",
      "by the product's name; ProductReviewTests run it"
    ),
    ("SELECT 0 AS day", "over what was running, when a report is asked for; SalesReportTests run it"),
    ("SELECT t. /", "over the days of a report, by index; SalesReportTests run it"),
    ("SELECT count(*) AS count FROM feeds", "once for a release; FeedTests run it"),
    ("SELECT max(previews.place)", "over the pictures of one version; PreviewTests run it"),
    ("DELETE FROM notifications", "a bounded batch by age; RetentionTests run it"),
    ("INSERT INTO consumption_consents", "by the grant's number; ConsumptionTests run it"),
    ("DELETE FROM consumption_consents", "by the grant's number; ConsumptionTests run it"),
    ("SELECT 1 FROM consumption_consents", "by the grant's number; ConsumptionTests run it"),
    ("SELECT 1 FROM previews", "by the version's name; ConsumptionTests run it"),
    (
      "INSERT INTO outbox (store, environment, subject, kind, payload, next_attempt, created) VALUES",
      "by its unique name; ConsumptionTests run it"
    ),
    ("SELECT id FROM outbox WHERE store", "by its unique name; ConsumptionTests run it"),
    (
      "SELECT DISTINCT store, environment FROM transactions",
      "by the customer's index; ProofListTests run it"
    ),
    (
      "UPDATE customer_devices SET granted = 0",
      "by its key, over the grants of one device; ClaimTests run it"
    ),
    (
      "UPDATE customer_devices SET granted = 1",
      "by its key, over the grants of one device; ClaimTests run it"
    ),
    (
      "SELECT DISTINCT grants.store, grants.environment, grants.transaction_id",
      "over the grants of one device, where a claim is transferred; ClaimTests run it"
    ),
    ("INSERT INTO transferred_grants", "by the grant's number; ClaimTests run it"),
    ("DELETE FROM transferred_grants", "by the grant's number; ClaimTests run it"),
    ("SELECT decided FROM transferred_grants", "by the grant's number; ClaimTests run it"),
    (
      "SELECT 1 FROM grants WHERE store = ? AND environment = ? AND transaction_id = ? LIMIT",
      "one row by the transaction's index; ClaimTests run it"
    ),
    ("SELECT excuses FROM transferred_grants", "by the grant's number; ClaimTests run it"),
    ("SELECT 1 FROM transferred_grants WHERE excuses", "one entry of an index; ClaimTests run it"),
    (
      "SELECT 1 FROM transactions JOIN grants",
      "one row over the transactions of one customer; ClaimTests run it"
    ),
    (
      "SELECT count(*) AS count FROM ( SELECT DISTINCT grants.store",
      "outside the writer, once a second, over the reports of one release; ReleaseStopTests run it"
    ),
    (
      "SELECT count(*) AS count FROM ( SELECT DISTINCT store",
      "no more purchases than decide, which is the failed ones by the share; ReleaseStopTests run it"
    ),
    ("INSERT INTO purchase_claims", "by the purchase's name; ClaimTests run it"),
    ("DELETE FROM purchase_claims", "by the purchase's name; ClaimTests run it"),
    ("SELECT account FROM purchase_claims", "by the purchase's name; ClaimTests run it"),
    ("INSERT INTO account_feeds", "by its own name; ClaimTests run it"),
    ("SELECT 1 AS found FROM account_feeds", "three rows by index; ClaimTests run it"),
    ("INSERT INTO irregularities", "by its unique name; ClaimTests run it"),
    ("UPDATE irregularities", "by its unique name; ClaimTests run it"),
    ("SELECT * FROM irregularities WHERE id", "a page by the row's number; ClaimTests run it"),
    ("SELECT * FROM irregularities WHERE kind", "a page by the row's number; ClaimTests run it"),
    ("SELECT 1 FROM irregularities", "by the row's number; ClaimTests run it"),
    (
      "SELECT 1 FROM customer_devices",
      "over the grants of one device, where its customer has no place left; ClaimTests run it"
    ),
    (
      "UPDATE transactions SET acknowledgement_due",
      "by the transaction's name; AcknowledgementTests run it"
    ),
    ("SELECT until, recovered FROM notification_history", "by the store's name; NotificationTests run it"),
    ("INSERT INTO notification_history", "by the store's name; NotificationTests run it"),
    (
      "SELECT digest FROM package_checks WHERE fault",
      "by index, in the scrubber's own time; PackageScrubberTests run it"
    ),
    ("INSERT INTO feed_items", "by the feed and the product; FeedTests run it"),
    ("SELECT * FROM feeds WHERE device = ? ORDER", "of one device, by its key; ExplanationTests run it"),
    ("UPDATE feeds SET environment", "by the feed's number; FeedTests run it"),
    (
      "SELECT * FROM grants WHERE store = ? AND environment = ? AND transaction_id = ? AND product = ? AND version = ? AND device = ?",
      "by the unique index of what was granted; GrantServiceTests run it"
    ),
    ("UPDATE feeds SET used", "by the feed's number; FeedTests run it"),
    ("UPDATE feeds SET sequence", "by the feed's number; FeedTests run it"),
    ("SELECT number FROM feeds WHERE customer", "a bounded batch by age, once a day; FeedTests run it"),
    ("SELECT number FROM feeds WHERE used", "a bounded batch by age, once a day; FeedTests run it"),
    ("DELETE FROM feed_items WHERE feed = ?", "by the feed's number, in that batch; FeedTests run it"),
    ("DELETE FROM feed_items WHERE feed = ? AND", "by the feed and the product; FeedPlanTests decide it"),
    ("DELETE FROM feeds", "by the feed's number, in that batch; FeedTests run it"),
    (
      "SELECT transaction_id, product AS value, CASE",
      "by a payment's name, of subscriptions alone; FeedTests run it"
    ),
    (
      "UPDATE transactions SET length",
      "by a payment's name, of subscriptions that do not renew; ExplanationTests run it"
    ),
    ("INSERT INTO unlocked_issues", "by a payment's name, of subscriptions alone; FeedTests run it"),
    (
      "SELECT 1 FROM products JOIN versions",
      "of a subscription as operators see it, by its publication's issues; SaleTests run it"
    ),
    ("SELECT min(scheduled_at)", "by index, in the scheduler's own time; ReleaseSchedulerTests run it"),
    (
      "SELECT DISTINCT digest, length FROM uploads",
      "of a backup, over the open uploads; BackupTests run it"
    ),
    ("SELECT digest, document FROM manifests", "of a check, over every manifest; StateCheckTests run it"),
    ("SELECT digest, max(length) AS length", "of a backup, over every version; BackupTests run it"),
    (
      "SELECT product, version FROM versions WHERE digest = ? ORDER",
      "of a check, by index; StateCheckTests run it"
    ),
    (
      "SELECT product, version FROM versions WHERE digest = ? AND",
      "one row by its index; ReleaseTests run it"
    ),
    (
      "SELECT product, version FROM versions WHERE manifest_digest",
      "of a check, over every version; StateCheckTests run it"
    ),
    ("UPDATE outbox SET next_attempt = CASE", "by the row's number; OutboxOutageTests run it"),
    ("UPDATE outbox SET next_attempt = ? WHERE", "by the row's number; OutboxTests run it"),
    ("UPDATE outbox SET next_attempt = ?, attempts", "by the row's number; OutboxTests run it"),
    ("UPDATE outbox SET next_attempt = ?, refusals", "by the row's number; OutboxTests run it"),
    ("DELETE FROM package_checks", "by the package's digest, when its version has gone"),
    ("DELETE FROM uploads WHERE addressed", "once at the start, over the open uploads; TusTests run it"),
    ("UPDATE uploads SET length = ?, awaits_end", "by the upload's name; ResumableUploadTests run it"),
    ("UPDATE uploads SET length = ? WHERE", "by the upload's name; TusTests run it"),
    ("UPDATE uploads SET touched", "by the upload's name; TusTests run it"),
    ("INSERT INTO idempotent_answers", "by the answer's key; IdempotencyKeyTests run it"),
    ("SELECT * FROM idempotent_answers", "by the answer's key; IdempotencyKeyTests run it"),
    (
      "SELECT count(*) AS count FROM ( SELECT created FROM idempotent_answers",
      "by an index, over as many answers as are kept; IdempotencyKeyTests run it"
    ),
    ("DELETE FROM idempotent_answers", "a bounded batch by age; IdempotencyKeyTests run it"),
    ("DELETE FROM leases", "by the lease's name; LeaseTests run it"),
    ("DELETE FROM leases WHERE", "by the lease's name; LeaseTests run it"),
    ("INSERT INTO leases", "by the lease's name; LeaseTests run it"),
    (
      "DELETE FROM unneeded_blobs WHERE digest = ? AND condemned",
      "by the package's digest; CondemnedPackageTests run it"
    ),
    ("INSERT INTO unneeded_blobs (digest, since)", "by the package's digest; CondemnedPackageTests run it"),
    ("INSERT INTO unneeded_blobs (digest, since,", "by the package's digest; CondemnedPackageTests run it"),
    ("INSERT INTO content_stops", "by the package's digest; CondemnedPackageTests run it"),
    ("SELECT digest FROM content_stops", "once at the start, over what is withdrawn"),
    ("SELECT handle FROM grants", "once at the start, over what is revoked"),
    ("INSERT INTO runs (started)", "once at the start and at the end, by the run's number"),
    ("INSERT INTO runs (started,", "once at the start and at the end, by the run's number"),
    ("UPDATE runs SET died = ? WHERE ended", "once at the start and at the end, by the run's number"),
    ("UPDATE runs SET died = ? WHERE id", "once at the start and at the end, by the run's number"),
    ("UPDATE runs SET ended", "once at the start and at the end, by the run's number"),
    ("DELETE FROM uploads WHERE id", "by the upload's name; TusTests run it"),
    ("SELECT * FROM uploads WHERE (created, id)", "a page by its index; OperatorListTests run it"),
    ("INSERT INTO publications", "by the publication's name; PublicationTests run it"),
    ("SELECT document FROM publications WHERE id =", "by the publication's name; PublicationTests run it"),
    ("SELECT document FROM publications WHERE id >", "by the publication's name; PublicationTests run it"),
    ("SELECT count(*) AS count FROM publications", "at most 2,000; PublicationTests run it"),
    ("DELETE FROM publications", "by the publication's name; PublicationTests run it"),
    ("INSERT INTO preview_contents", "by the version's name or the digest; PreviewTests run it"),
    ("INSERT INTO previews", "by the version's name or the digest; PreviewTests run it"),
    ("SELECT preview_contents.digest", "by the product's name; PreviewTests run it"),
    ("INSERT INTO products", "by the product's or the version's name; PublishingTests run it"),
    ("INSERT INTO version_signatures", "by the product's or the version's name; PublishingTests run it"),
    (
      "SELECT 1 FROM versions WHERE state = 'withdrawn'",
      "by the product's or the version's name; PublishingTests run it"
    ),
    (
      "SELECT count(*) AS count FROM versions",
      "by the product's or the version's name; PublishingTests run it"
    ),
    (
      "SELECT version FROM versions WHERE product = ? AND state = 'released' AND percentage",
      "by the product's or the version's name; PublishingTests run it"
    ),
    (
      "SELECT FROM versions WHERE product = ? AND ordering <",
      "by the product's or the version's name; PublishingTests run it"
    ),
    (
      "SELECT FROM versions WHERE product = ? AND ordering = ?",
      "by the product's or the version's name; PublishingTests run it"
    ),
    (
      "SELECT FROM versions WHERE product = ? AND ordering = ? AND",
      "by the product's or the version's name; PublishingTests run it"
    ),
    ("SELECT * FROM grants WHERE handle =", "by the handle's index; LeakedTicketTests run it"),
    ("SELECT * FROM grants WHERE handle BETWEEN", "by the handle's index; LeakedTicketTests run it"),
    ("SELECT max(number) AS last FROM grants", "by the row's number, halving; OperatorListTests run it"),
    (
      "SELECT number, created FROM grants WHERE number",
      "by the row's number, halving; OperatorListTests run it"
    ),
    ("UPDATE grants SET public_key", "by the grant's name; LeakedTicketTests run it"),
    (
      "SELECT product FROM obligations WHERE store = ? AND environment = ? AND transaction_id = ? AND device = ?",
      "by the debt's key"
    ),
    (
      "SELECT * FROM outbox WHERE id <",
      "by the row's number or its unique name; OutboxTests and OutboxOperatorTests run it"
    ),
    (
      "SELECT * FROM outbox WHERE id =",
      "by the row's number or its unique name; OutboxTests and OutboxOperatorTests run it"
    ),
    (
      "SELECT * FROM outbox WHERE store = ? AND environment = ? AND subject",
      "by the row's number or its unique name; OutboxTests and OutboxOperatorTests run it"
    ),
    (
      "UPDATE outbox SET done = ?, dropped",
      "by the row's number or its unique name; OutboxTests and OutboxOperatorTests run it"
    ),
    ("SELECT as_of, revoked FROM transactions", "by the transaction's key; RevocationTests run it"),
    (
      "INSERT INTO transactions (store, environment, transaction_id, as_of, revoked) VALUES",
      "by the transaction's key; TransactionStandingTests run it"
    ),
    (
      "SELECT * FROM transactions WHERE store = ? AND environment = ? AND transaction_id = ?",
      "by the transaction's key; LedgerTests run it"
    ),
    (
      "SELECT * FROM transactions WHERE store = ? AND environment = ? AND transaction_id = ? UNION",
      "by the transaction's key; LedgerTests run it"
    ),
    ("SELECT * FROM transactions WHERE customer", "by the customer's index; LedgerCostTests run it"),
    (
      "SELECT customer FROM transactions WHERE store = ? AND environment = ? AND account",
      "by the account's index; LedgerCostTests run it"
    ),
    (
      "SELECT DISTINCT account FROM transactions",
      "by the customer's index, where customers may be one; LedgerTests run it"
    ),
    ("SELECT customer FROM customer_aliases", "by the alias's key; LedgerTests run it"),
    ("SELECT last_seen FROM customer_devices", "by the customer's key; LedgerTests run it"),
    ("SELECT * FROM customer_devices", "by the customer's key; LedgerTests run it"),
    ("UPDATE transactions SET customer", "by the customer's index, where two are one; LedgerTests run it"),
    (
      "INSERT INTO customer_devices (customer, device, first_seen, last_seen, granted) SELECT",
      "by the customer's key, where two are one; LedgerTests run it"
    ),
    ("DELETE FROM customer_devices WHERE customer", "by the customer's key; LedgerTests run it"),
    ("UPDATE customer_aliases", "by the customer's index, where two are one; LedgerTests run it"),
    ("INSERT INTO customer_aliases", "by the alias's key; LedgerTests run it"),
    (
      "UPDATE outbox SET leased_by",
      "by the row's number or its unique name; OutboxTests and OutboxOperatorTests run it"
    ),
    (
      "UPDATE outbox SET parked = ?, attempts",
      "by the row's number or its unique name; OutboxTests and OutboxOperatorTests run it"
    ),
    (
      "UPDATE outbox SET parked = ?, last_error",
      "by the row's number or its unique name; OutboxTests and OutboxOperatorTests run it"
    ),
    (
      "SELECT * FROM outbox WHERE done IS NULL AND parked IS NULL AND store = ? AND (next_attempt, id)",
      "by the index of what waits for a store; OutboxTests run it"
    ),
    ("SELECT at FROM audit WHERE id", "by the row's number; OperatorListTests run it"),
  ]

  /// Work that goes over many rows a piece at a time: the pieces are bounded, and their number grows with the rows.
  private static let inPieces: [(beginning: String, reason: String)] = [
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
    (
      "SELECT good FROM remembered_proofs",
      "once an hour, outside the writer, over the proofs that are remembered"
    ),
    (
      "SELECT count(*) AS count FROM ( SELECT DISTINCT grants.store, grants.environment, grants.transaction_id FROM verification_failures",
      "over the failures of one version, when a device tells of another: a release stops itself before there are many"
    ),
    ("SELECT signed FROM notifications", "once an hour, over as many as are kept"),
    ("BEGIN IMMEDIATE", "once for each piece"), ("COMMIT", "once for each piece"),
    ("SAVEPOINT body", "once for each piece"), ("RELEASE body", "once for each piece"),
    ("ROLLBACK TO body", "once for each piece, where bodies run twice"),
  ]

  /// A grant of the bestseller for each device, half of them finished, as the tables have them; every
  /// twentieth is revoked, so that few have a full page of them as well. They are of the package that `com.example.issue1` 1.0 has.
  private func fill(_ path: String, grants count: Int) throws {
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
        "INSERT INTO delivered_bytes (grant_number, bytes) SELECT number, length FROM grants")
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
          customer)
        SELECT store, environment, transaction_id, created, transaction_id, product, created, 1,
          CAST(printf('%032d', number) AS BLOB)
        FROM grants
        """)
      try connection.execute(
        """
        INSERT INTO customer_devices (customer, device, first_seen, last_seen, granted)
        SELECT CAST(printf('%032d', number) AS BLOB), device, ?, ?, 1 FROM grants
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
      // Of a store that the configuration does not know: as good as one that is away.
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
        SELECT number, device, store, environment, CAST(printf('%032d', number) AS BLOB), 1, 1, ? FROM grants
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
    }
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

  /// What operators and devices ask for and do, all of it.
  private func exercise(
    _ server: ServerHarness, _ timer: ManualMonotonicClock, _ costs: Costs
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
    for query in [
      [], [("type", "non-consumable")], [("state", "released")], [("publication", "com.example.p")],
    ]
      as [[(String, String)]]
    {
      try await step { _ = try await operators.get("/v1/operator/products", query: query, as: Ignored.self) }
    }
    for (path, query) in [
      ("/products_v1.json", []), ("/v1/products", [("id", "com.example.issue1")]), ("/metrics", []),
    ] {
      try await step {
        let url = server.api.url(path, query: query)
        let status = try await server.client.send(ClientRequest(method: "GET", url: url)).status
        #expect(status == 200)
      }
    }
    try await deliver(server, step)
    try await work(server, step)
    // With the time that passes the outbox works at all that waits.
    func stepBesideOutbox(_ body: () async throws -> Void) async throws {
      try await body()
      try await costs.look(besides: ["outbox", "BEGIN"])
    }
    try await outage(server, timer, stepBesideOutbox)
    try await publish(server, stepBesideOutbox)
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
    try await step { try await server.step("withdraw", "1.1") }
  }

  /// What goes on by itself.
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
      try await exercise(server, timer, costs)
      let all = costs.all
      found.withLock { $0 = all }
    }
    return found.current
  }

  @Test("no statement costs more than twice as much")
  func growth() async throws {
    let few = try await costs(grants: Self.few)
    let many = try await costs(grants: Self.many)
    #expect(many.count > 60)
    let growing = many.compactMap { sql, steps -> String? in
      if Self.inPieces.contains(where: { Self.words(sql).hasPrefix($0.beginning) }) { return nil }
      let before = few[sql] ?? 0
      return steps <= max(2 * before, 200) ? nil : "\(before) -> \(steps): \(sql)"
    }
    #expect(growing.sorted() == [])
    let unseen = try unseen(in: Set(few.keys).union(many.keys))
    #expect(unseen == [])
  }

  /// The texts of statements in the service's source that were not run, but for those that are known not to be.
  private func unseen(in statements: Set<String>) throws -> [String] {
    let seen = statements.map(Self.words)
    var missing: [String] = []
    let literals = try SourceStatements.all()
    let texts = Set(literals.map { Self.words($0.joined()) })
    for literal in literals {
      let text = Self.words(literal.joined())
      if Self.notRun.contains(where: { Self.excused(by: $0.beginning, among: texts) == [text] }) { continue }
      let parts = literal.map(Self.words).filter { !$0.isEmpty }
      let isSeen = seen.contains { text in
        var rest = text[...]
        for part in parts {
          guard let range = rest.range(of: part) else { return false }
          rest = rest[range.upperBound...]
        }
        return true
      }
      if !isSeen { missing.append(parts.joined(separator: " … ")) }
    }
    return missing.sorted()
  }

  /// The statements that begin so, or the one that is that.
  private static func excused(by beginning: String, among texts: Set<String>) -> Set<String> {
    texts.contains(beginning) ? [beginning] : texts.filter { $0.hasPrefix(beginning) }
  }

  @Test("what is not run is named by a beginning that one statement of the source has, and no other")
  func excuses() throws {
    let texts = Set(try SourceStatements.all().map { Self.words($0.joined()) })
    #expect(texts.count > 200)
    for (beginning, _) in Self.notRun {
      #expect(Self.excused(by: beginning, among: texts).count == 1, "\(beginning)")
    }
  }

  private static func words(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}

/// The statements that stand in the source of the service, each as the parts between what it interpolates.
private enum SourceStatements {
  static func all() throws -> [[String]] {
    let root =
      #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Sources/DeliveryService"
    let files = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
    var found: [[String]] = []
    for file in files.sorted() where file.hasSuffix(".swift") && !file.contains("Migrations") {
      found += statements(in: try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8))
    }
    return found
  }

  private static func statements(in source: String) -> [[String]] {
    var found: [[String]] = []
    var rest = source[...]
    while let quote = rest.firstIndex(of: "\"") {
      let line = source[..<quote].lastIndex(of: "\n").map { source[$0..<quote] } ?? source[..<quote]
      if line.contains("//") {
        rest = rest[quote...].drop { $0 != "\n" }
        continue
      }
      let mark = rest[quote...].hasPrefix("\"\"\"") ? "\"\"\"" : "\""
      let (parts, end) = literal(rest[quote...].dropFirst(mark.count), until: mark)
      let text = parts[0].drop(while: \.isWhitespace)
      if ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM "].contains(where: text.hasPrefix) {
        found.append(parts)
      }
      rest = end
    }
    return found
  }

  /// The parts of a string between interpolations, and what follows the string.
  private static func literal(_ text: Substring, until mark: String) -> (parts: [String], rest: Substring) {
    var parts = [""]
    var rest = text
    while !rest.isEmpty, !rest.hasPrefix(mark) {
      if rest.hasPrefix("\\(") {
        var depth = 0
        repeat {
          if rest.first == "(" { depth += 1 }
          if rest.first == ")" { depth -= 1 }
          rest = rest.dropFirst()
        } while depth > 0 || rest.first == "("
        parts.append("")
      } else {
        if rest.first == "\\" { rest = rest.dropFirst() }
        if let character = rest.first { parts[parts.count - 1].append(character) }
        rest = rest.dropFirst()
      }
    }
    return (parts, rest.dropFirst(mark.count))
  }
}

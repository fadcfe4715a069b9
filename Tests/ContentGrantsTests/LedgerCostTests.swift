import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

@Suite("What the ledger costs", .enabled(if: !TestDatabase.isOnServer))
struct LedgerCostTests {
  /// That many transactions, ten of each customer, every second one a renewal and every fifth with an account.
  private func fill(_ database: Database, transactions count: Int) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
        INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, quantity,
          account, customer)
        SELECT 'apple', 'Production', 't' || n, n, 't' || (n - n % 2), 'com.example.a', n, 1,
          CASE n % 5 WHEN 0 THEN 'account-' || n / 10 END, CAST(printf('%016d', n / 10) AS BLOB)
        FROM numbers
        """, [.integer(count - 1)])
    }
  }

  private func transaction(
    _ id: String, original: String? = nil, account: String? = nil
  ) throws -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: try #require(TransactionIdentifier(id)),
      originalID: try #require(TransactionIdentifier(original ?? id)),
      product: try #require(ProductIdentifier("com.example.a")),
      purchaseDate: Timestamp(millisecondsSinceEpoch: 1000),
      account: account.flatMap { ApplicationAccount($0) },
      asOf: Timestamp(millisecondsSinceEpoch: 10_000_000))
  }

  /// The costliest runs of each statement.
  private func costs(transactions count: Int) async throws -> [String: Int] {
    let file = try StateFile()
    let database = try file.open()
    try fill(database, transactions: count)
    let grants = GrantStore(database: database, clock: SystemWallClock())
    let customer = try #require(CustomerIdentifier(Array("0000000000000003".utf8)))
    let told = [
      try transaction("new"), try transaction("renewal", original: "t31"), try transaction("t34"),
      try transaction("other", account: "account-4"),
    ]
    _ = try await database.read { $0.takeSteps() }
    for transaction in told {
      _ = try await grants.record([transaction], by: .init(), shownBy: DeviceIdentifier("d")) { _ in }
    }
    try await database.read { connection in
      #expect(try LedgerTable.transactions(of: customer, in: connection).count >= 10)
      _ = try CustomerTable.devices(of: customer, limit: 10, in: connection)
    }
    let taken = try await database.read { $0.takeSteps() }
    return Dictionary(taken.map { ($0.sql, $0.steps) }, uniquingKeysWith: max)
  }

  @Test(
    "a customer's transactions, and what is asked for each statement of a store, cost the same among 200,000")
  func growth() async throws {
    let few = try await costs(transactions: 200)
    let many = try await costs(transactions: 200_000)
    #expect(!many.isEmpty)
    let growing = many.compactMap { sql, steps in
      steps <= (few[sql] ?? 0) + 20 ? nil : "\(few[sql] ?? 0) -> \(steps): \(sql)"
    }
    #expect(growing.sorted() == [])
  }

  @Test("a first grant asks the ledger three questions, and writes one transaction and one device")
  func firstGrant() async throws {
    let file = try StateFile()
    let database = try file.open()
    let grants = GrantStore(database: database, clock: SystemWallClock())
    let product = try #require(ProductIdentifier("com.example.a"))
    let content = ReleasedContent(
      product: product, version: try #require(ContentVersion("1.0")), digest: .of([1]), length: ByteCount(1),
      manifestDigest: .of([2]), cover: nil)
    let basis = GrantStore.Basis(transaction: try transaction("1"), content: content, owed: [])
    _ = try await database.read { $0.takeSteps() }
    _ = try await grants.grant(on: basis, to: Device(id: try #require(DeviceIdentifier("d"))))
    let statements = try await database.read { $0.takeSteps() }.map(\.sql)
    let ledger = statements.filter { $0.contains("transactions") || $0.contains("customer") }
    #expect(ledger.count == 5, "\(ledger)")
    #expect(ledger.filter { $0.hasPrefix("INSERT") }.count == 2)
  }
}

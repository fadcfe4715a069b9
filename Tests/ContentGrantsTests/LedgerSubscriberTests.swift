import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import Testing

@testable import DeliveryRecords

/// Those to whom an issue opens that is released behind its date: docs/publishing.md.
@Suite("Subscribers of a publication in the ledger")
struct LedgerSubscriberTests {
  private static let date = Timestamp(millisecondsSinceEpoch: 1_000_000)
  private static let now = Timestamp(millisecondsSinceEpoch: 9_000_000)

  private let file: StateFile
  private let database: Database
  private let publication: ProductIdentifier

  init() throws {
    file = try StateFile()
    database = try file.open()
    publication = try #require(ProductIdentifier("com.example.magazine"))
    let magazine = publication
    let plans: [(String, ProductType)] = [
      ("season", .nonRenewingSubscription), ("monthly", .autoRenewableSubscription),
      ("issue", .nonConsumable),
    ]
    try database.writeBlocking(locking: [.everything]) { connection in
      for (name, type) in plans {
        try connection.execute(
          """
          INSERT INTO products (id, document, type, publication, created, changed)
          VALUES ('com.example.' || ?, '{}', ?, ?, 0, 0)
          """, [.text(name), .choice(type), .identifier(magazine)])
      }
    }
  }

  /// Payments by customers of their own, numbered from `first` on, one every millisecond from `purchased` on.
  private func pay(
    _ count: Int, for product: String, from first: Int, at purchased: Timestamp, until end: Timestamp? = nil,
    revoked: Bool = false
  ) async throws {
    try await database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
        INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, expires, quantity,
          customer, revoked)
        SELECT 'apple', 'Production', ? || '-' || (? + n), 0, ? || '-' || (? + n), 'com.example.' || ?, ? + n, ? + n, 1,
          CAST(printf('%016d', ? + n) AS BLOB), ?
        FROM numbers
        """,
        [
          .integer(count - 1), .text(product), .integer(first), .text(product), .integer(first),
          .text(product), .timestamp(purchased), .optional(end), .integer(first),
          .optional(revoked ? purchased : nil),
        ])
    }
  }

  private func customers(_ numbers: ClosedRange<Int>) throws -> Set<CustomerIdentifier> {
    Set(
      try numbers.map { number in
        let digits = String(number)
        let text = String(repeating: "0", count: 16 - digits.count) + digits
        return try #require(CustomerIdentifier(Array(text.utf8)))
      })
  }

  /// A page of those who pay with an end that is told, or without.
  private func page(
    withEnd: Bool, after place: LedgerTable.PaymentPlace?, limit: Int
  ) async throws -> LedgerTable.PayerPage {
    let publication = publication
    return try await database.read { connection in
      withEnd
        ? try LedgerTable.subscribers(
          to: publication, at: Self.now, butNotAt: Self.date, after: place, limit: limit, in: connection)
        : try LedgerTable.payersWithoutEnd(
          to: publication, after: Self.date, until: Self.now, after: place, limit: limit, in: connection)
    }
  }

  /// All pages, and how many there are.
  private func all(withEnd: Bool, limit: Int) async throws -> (customers: Set<CustomerIdentifier>, pages: Int)
  {
    var all: (customers: Set<CustomerIdentifier>, pages: Int) = ([], 0)
    var place: LedgerTable.PaymentPlace?
    repeat {
      let page = try await page(withEnd: withEnd, after: place, limit: limit)
      #expect(page.customers.count <= limit)
      all.customers.formUnion(page.customers)
      all.pages += 1
      place = page.next
    } while place != nil
    return all
  }

  @Test(
    "those who paid without an end are found page by page, among purchases of others",
    .enabled(if: !TestDatabase.isOnServer),
    arguments: [1, 4, 7, 100])
  func withoutEnd(limit: Int) async throws {
    let second = Self.date + .seconds(1)
    try await pay(7, for: "season", from: 1, at: second)
    try await pay(12, for: "issue", from: 100, at: second)
    // At the date itself, too late, given back, and with an end.
    try await pay(1, for: "season", from: 200, at: Self.date)
    try await pay(1, for: "season", from: 201, at: Self.now - .milliseconds(999))
    try await pay(1, for: "season", from: 202, at: second, revoked: true)
    try await pay(1, for: "monthly", from: 203, at: second, until: Self.now)
    let found = try await all(withEnd: false, limit: limit)
    #expect(try found.customers == customers(1...7))
    // 21 payments lie between the date and a second ago.
    #expect(found.pages == 21 / limit + 1)
  }

  @Test(
    "those whose period runs and ran not at the date are found page by page",
    .enabled(if: !TestDatabase.isOnServer),
    arguments: [1, 4, 7, 100])
  func withEnd(limit: Int) async throws {
    let second = Self.date + .seconds(1)
    try await pay(7, for: "monthly", from: 1, at: second, until: Self.now + .seconds(60))
    // Over, bought at the date, and with a period before that ran then.
    try await pay(1, for: "monthly", from: 200, at: second, until: Self.now)
    try await pay(1, for: "monthly", from: 201, at: Self.date, until: Self.now + .seconds(60))
    try await pay(1, for: "season", from: 202, at: Self.date - .seconds(1), until: second)
    try await pay(1, for: "monthly", from: 202, at: second, until: Self.now + .seconds(60))
    let found = try await all(withEnd: true, limit: limit)
    #expect(try found.customers == customers(1...7))
    #expect(found.pages == 9 / limit + 1)
  }

  @Test(
    "a page costs the same among 20,000 payments as among 200", .enabled(if: !TestDatabase.isOnServer),
    arguments: [true, false])
  func cost(withEnd: Bool) async throws {
    func steps() async throws -> Int {
      _ = try await database.read { $0.takeSteps() }
      let first = try await page(withEnd: withEnd, after: nil, limit: 20)
      #expect(first.next != nil)
      _ = try await page(withEnd: withEnd, after: first.next, limit: 20)
      return try #require(try await database.read { $0.takeSteps() }.map(\.steps).max())
    }
    let end = withEnd ? Self.now + .seconds(60) : nil
    try await pay(200, for: "monthly", from: 1, at: Self.date + .seconds(1), until: end)
    let few = try await steps()
    try await pay(20_000, for: "issue", from: 1000, at: Self.date + .seconds(2), until: end)
    try await pay(2000, for: "season", from: 100_000, at: Self.date + .seconds(3), until: end)
    #expect(try await steps() <= few + 20)
  }
}

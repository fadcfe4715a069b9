import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import PullboxAPI
import Testing

@testable import DeliveryModel
@testable import DeliveryRecords

@Suite("The locks that stand for the service's rows")
struct DomainLockTests {
  private let file: StateFile
  private let recorder = LockRecorder()
  private let database: Database
  private let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
  private let product: ProductIdentifier

  init() throws {
    file = try StateFile()
    database = try file.open(options: recorder.options)
    product = try #require(ProductIdentifier("com.example.monthly"))
  }

  private func payment(
    _ number: Int, original: Int? = nil, account: String? = nil
  ) throws -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: .numbered(number), originalID: .numbered(original ?? number),
      product: product, purchaseDate: now,
      account: try account.map { try #require(ApplicationAccount($0)) })
  }

  private func locks(_ payment: VerifiedTransaction, joining: Bool = false) -> [DatabaseLock] {
    DatabaseLock.statements(on: [payment], joiningAccounts: joining)
  }

  @Test("a statement locks its transaction and the first one of the purchase, and holds the product shared")
  func statement() throws {
    let renewal = try payment(2, original: 1)
    #expect(
      Set(locks(renewal)) == [
        .transaction(.numbered(2)), .transaction(.numbered(1)), .product(product).shared,
      ])
  }

  @Test("two renewals of one purchase are not taken in side by side, and purchases of two customers are")
  func renewals() throws {
    let renewals = try [payment(2, original: 1), payment(3, original: 1), payment(1), payment(4)].map {
      locks($0)
    }
    #expect(renewals[0].conflict(with: renewals[1]))
    #expect(renewals[0].conflict(with: renewals[2]))
    #expect(!renewals[0].conflict(with: renewals[3]))
  }

  @Test("purchases for one account are taken in side by side unless the store's rules join them")
  func accounts() throws {
    let name = "0B9F5A6E-7D3A-4C53-9B52-0A53F3F4B7AA"
    let first = try payment(1, account: name)
    let second = try payment(2, account: name.lowercased())
    #expect(locks(first, joining: true).conflict(with: locks(second, joining: true)))
    #expect(!locks(first).conflict(with: locks(second)))
    let other = try payment(3, account: "ben")
    #expect(!locks(first, joining: true).conflict(with: locks(other, joining: true)))
  }

  @Test("a lock tells no account's name")
  func secrets() throws {
    let account = try #require(ApplicationAccount("ada@example.com"))
    #expect(!DatabaseLock.account(account, in: .sandbox).name.contains("ada"))
  }

  /// Two customers, each with a transaction of its own.
  private func fill() async throws -> [CustomerIdentifier] {
    let customers = try [2, 1].map { number in
      try #require(CustomerIdentifier([UInt8](repeating: number, count: 16)))
    }
    let payments = [try payment(1), try payment(2)]
    try await database.write(locking: [.everything]) { connection in
      for (customer, payment) in zip(customers, payments) {
        try LedgerTable.write(payment, of: customer, in: connection)
      }
    }
    return customers
  }

  @Test("customers are locked behind all else, the lesser name first")
  func customers() async throws {
    let customers = try await fill()
    recorder.forget()
    let found = try await database.write(locking: [.transaction(.numbered(1))]) {
      try CustomerTable.lockCustomers(of: [.numbered(1), .numbered(2)], in: $0)
    }
    #expect(found == Set(customers))
    #expect(
      Set(recorder.writes) == [
        [
          .everything.shared, .transaction(.numbered(1)), .customer(customers[1]), .customer(customers[0]),
        ]
      ])
  }

  @Test("a customer who has become another meanwhile is looked up once more")
  func merged() async throws {
    let customers = try await fill()
    let (isFirst, isSecond) = try await database.write(locking: [.everything]) { connection in
      _ = try CustomerTable.resolve(
        CustomerGroup(account: nil, members: [0, 1], customers: customers), in: connection)
      // The first name is kept.
      return (
        try CustomerTable.lock([customers[0]], in: connection),
        try CustomerTable.lock([customers[1]], in: connection)
      )
    }
    #expect(isFirst && !isSecond)
    let found = try await database.write(locking: []) {
      try CustomerTable.lockCustomers(of: [.numbered(1), .numbered(2)], in: $0)
    }
    #expect(found == [customers[0]])
  }
}

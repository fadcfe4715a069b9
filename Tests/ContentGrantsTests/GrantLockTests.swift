import Commerce
import ContentCatalog
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import Entitlements
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryRecords

/// Which grants, completions and revocations an engine with several writers lets run side by side. ``places()`` and
/// ``renewals()`` run them at the same time: on SQLite one after the other.
@Suite("The locks of grants")
struct GrantLockTests {
  private let file: StateFile
  private let recorder = LockRecorder()
  private let database: Database
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_795_249_800_000))
  private let product: ProductIdentifier

  init() throws {
    file = try StateFile()
    database = try file.open(options: recorder.options)
    product = try #require(ProductIdentifier("com.example.issue1"))
  }

  private var store: GrantStore { GrantStore(database: database, clock: clock) }

  private func device(_ number: Int) throws -> Device {
    Device(id: try #require(DeviceIdentifier("device-\(number)")))
  }

  private func issue(_ number: Int) throws -> ProductIdentifier {
    try #require(ProductIdentifier("com.example.issue\(number)"))
  }

  private func purchase(
    _ number: Int, of product: ProductIdentifier? = nil, original: Int? = nil, account: String? = nil
  ) throws -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: .numbered(number), originalID: .numbered(original ?? number),
      product: product ?? self.product, purchaseDate: clock.now() - .seconds(60),
      account: try account.map { try #require(ApplicationAccount($0)) })
  }

  /// Issues 1 to `count`, released to all devices.
  private func publish(_ count: Int) async throws {
    let now = clock.now()
    let version = try #require(ContentVersion("1.0"))
    let products = try (1...count).map(issue)
    try await database.write(locking: [.everything]) { connection in
      for product in products {
        try ProductTable.put(Product(id: product, type: .nonConsumable), at: now, in: connection)
        var record = VersionRecord(
          product: product, version: version, state: .draft, length: ByteCount(1),
          digest: .of(Array(product.description.utf8)), manifestDigest: .of([1]), pieces: 1, files: 1,
          created: now)
        try VersionTable.insert(record, manifest: [1], cover: nil, title: nil, in: connection)
        (record.state, record.percentage, record.released) = (.released, 100, now)
        try VersionTable.update(record, in: connection)
        try CatalogRevision.increment(at: now, by: product, in: connection)
      }
    }
  }

  private func planner(
    _ payments: [VerifiedTransaction], for product: ProductIdentifier? = nil, on number: Int = 1,
    under conditions: GrantConditions = GrantConditions()
  ) async throws -> GrantPlanner {
    GrantPlanner(
      rules: EntitlementRules(), transactions: payments, record: .empty,
      orders: [GrantOrder(product: product ?? self.product)], device: try device(number),
      conditions: conditions, catalog: try await CatalogCache(database: database).current(),
      stopped: RevocationList.StoppedContents(), now: clock.now())
  }

  /// Makes the grants that are planned, as ``GrantService`` does; whether there are any.
  private static func grant(_ planner: GrantPlanner, at now: Timestamp, in database: Database) async throws
    -> Bool
  {
    try await database.write(locking: planner.locks) { connection in
      _ = try GrantStore.record([], by: .answer(), besides: planner.paying, at: now, in: connection)
      let bases = try planner.plans(in: connection).compactMap { plan in try? plan.get().basis }
      let made = try GrantStore.grants(
        on: bases, to: planner.device, under: planner.conditions, at: now, in: connection)
      return made.contains { (try? $0.get()) != nil }
    }
  }

  @Test(
    "two customers are granted one issue side by side, but not beside a step with it or a change of rules")
  func sideBySide() async throws {
    try await publish(1)
    let first = try await planner([purchase(1)]).locks
    let second = try await planner([purchase(2)], on: 2).locks
    #expect(!first.conflict(with: second))
    for other in [DatabaseLock.product(product), .publications, .transaction(.numbered(1))] {
      #expect(first.conflict(with: [other]), "\(other)")
    }
    #expect(!first.conflict(with: [.product(product).shared, .publications.shared]))
  }

  @Test("grants for one application account wait for each other, whoever pays")
  func accounts() async throws {
    try await publish(1)
    let first = try await planner([purchase(1, account: "ada")]).locks
    let second = try await planner([purchase(2, account: "ada")], on: 2).locks
    #expect(first.conflict(with: second))
    var conditions = GrantConditions()
    conditions.account = ApplicationAccount("ada")
    let named = try await planner([purchase(3)], on: 3, under: conditions).locks
    #expect(first.conflict(with: named))
  }

  @Test(
    "where a purchase may change hands, all of its transactions are found before the grants that they paid for end"
  )
  func transfers() async throws {
    try await publish(1)
    let told = [try purchase(1), try purchase(2, original: 1), try purchase(3, original: 1)]
    _ = try await store.record(told, by: .init(), shownBy: nil) { _ in }
    for rule in [ClaimRule.reject, .share(2), .transfer] {
      for account in [ApplicationAccount("ada"), nil] {
        var conditions = GrantConditions(account: account)
        conditions.rules.claims = rule
        let planner = try await planner([told[1]], under: conditions)
        let found = try await database.read { try planner.transferable(in: $0) }
        let isTransfer = rule == .transfer && account != nil
        #expect(found == (isTransfer ? Set(told.map(\.key)) : []), "\(rule)")
      }
    }
  }

  @Test("a grant locks the customer behind all else, once the purchase is known")
  func customer() async throws {
    try await publish(2)
    let payments = [try purchase(1), try purchase(2, of: try issue(2))]
    _ = try await store.record(payments, by: .init(), shownBy: nil) { _ in }
    let key = payments[0].key
    let known = try await database.read { try CustomerTable.customer(of: key, in: $0) }
    let customer = try #require(known)
    let planner = try await planner([payments[0]])
    recorder.forget()
    #expect(try await Self.grant(planner, at: clock.now(), in: database))
    let taken = try #require(recorder.writes.last)
    #expect(taken.last == .customer(customer))
    #expect(taken.first == .everything.shared)
  }

  @Test("of devices that ask at the same time, as many are granted something as there are places")
  func places() async throws {
    let count = 8
    try await publish(count)
    let payments = try (1...count).map { try purchase($0, of: try issue($0)) }
    _ = try await store.record(payments, by: .init(), shownBy: nil) { _ in }
    var conditions = GrantConditions()
    conditions.rules.deviceLimit = 2
    var planners: [GrantPlanner] = []
    for (number, payment) in payments.enumerated() {
      planners.append(
        try await planner([payment], for: payment.product, on: number + 1, under: conditions))
    }
    // They have no lock in common before the customer is found.
    #expect(!planners[0].locks.conflict(with: planners[1].locks))
    let (database, now) = (database, clock.now())
    let granted = try await withThrowingTaskGroup(of: Bool.self) { group in
      for planner in planners { group.addTask { try await Self.grant(planner, at: now, in: database) } }
      return try await group.reduce(into: [Bool]()) { $0.append($1) }.count { $0 }
    }
    #expect(granted == conditions.rules.deviceLimit)
  }

  @Test("renewals of one purchase that are first heard of at the same time are one customer's")
  func renewals() async throws {
    let told = try (2...9).map { try purchase($0, original: 1) }
    let store = store
    try await withThrowingTaskGroup { group in
      for one in told {
        group.addTask { _ = try await store.record([one], by: .init(), shownBy: nil) { _ in } }
      }
      try await group.waitForAll()
    }
    let keys = told.map(\.key)
    let customers = try await database.read { try CustomerTable.customers(of: keys, in: $0) }
    #expect(customers.count == 1)
  }

  @Test("completions of one issue run side by side, and not beside a step with it")
  func completions() async throws {
    try await publish(1)
    var locks: [[DatabaseLock]] = []
    for number in 1...2 {
      let content = ReleasedContent(
        product: product, version: try #require(ContentVersion("1.0")), digest: .of([1]),
        length: ByteCount(1),
        manifestDigest: .of([2]), cover: nil)
      let basis = GrantStore.Basis(transaction: try purchase(number), content: content, owed: [product])
      let issued = try await store.grant(on: basis, to: try device(number))
      locks.append(try await store.completionBasis(of: issued.grant.id).locks)
    }
    #expect(!locks[0].conflict(with: locks[1]))
    #expect(locks[0].conflict(with: [.product(product)]))
    #expect(locks[0].conflict(with: [.transaction(.numbered(1))]))
  }

  @Test("an operator who takes a grant back waits for its transaction and its customer, and for nothing else")
  func revocation() async throws {
    try await publish(1)
    let payment = try purchase(1)
    let planner = try await planner([payment])
    #expect(try await Self.grant(planner, at: clock.now(), in: database))
    let key = payment.key
    let (grants, known) = try await database.read {
      (try GrantTable.all(paidBy: key, in: $0), try CustomerTable.customer(of: key, in: $0))
    }
    let (made, customer) = (try #require(grants.first), try #require(known))
    recorder.forget()
    _ = try await store.setRevoked(true, of: made.handle.shortName, by: "ada", reason: nil) { _ in }
    #expect(
      Set(recorder.writes) == [[.everything.shared, .transaction(key), .customer(customer)]])
  }
}

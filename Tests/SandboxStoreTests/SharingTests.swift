import Commerce
import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import SandboxRecords
import ServiceAPI
import Testing

@testable import SandboxStore

/// Facts §7.4 (families) and §7.5 (volume licenses). A month is five minutes, and so are the thirty days of a license.
@Suite("Families and licenses")
struct SharingTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func family(_ organizer: AccountResponse, _ members: [AccountResponse]) async throws {
    let _: StoreFamily = try await store.call(
      .post, "/sandbox/v1/families",
      body: StoreFamily(organizer: organizer.account, members: members.map(\.account)))
  }

  private func entries(_ token: String) async throws -> [InAppPurchase] {
    try UnverifiedAppReceipt(base64: await store.receipt(token)).claims.purchases
  }

  @Test("a member gets what the organizer owns, buys and renews, under ids of its own, and nothing else")
  func shared() async throws {
    let organizer = try await store.openNamedAccount()
    let member = try await store.openNamedAccount()
    let issue = try await store.buy(StoreHarness.issue, token: organizer.token)
    try await family(organizer, [member])
    try await store.buy(StoreHarness.coins, token: organizer.token)
    let magazine = try await store.buy(StoreHarness.magazine, token: organizer.token)
    store.clock.advance(by: .seconds(301))
    _ = try await store.all(organizer.token)
    let shared = try await store.all(member.token)
    #expect(shared.map(\.product) == [StoreHarness.issue, StoreHarness.magazine, StoreHarness.magazine])
    #expect(shared.allSatisfy { $0.price == nil && $0.device == nil && $0.state == .purchased })
    #expect(Set(shared.map(\.originalId)).isDisjoint(with: [issue.id, magazine.id]))
    #expect(shared[2].originalId == shared[1].id && shared[1].originalId == shared[1].id)
    #expect(shared[2].purchaseDate == shared[1].expiresDate)
    let latest = try await store.verify(store.receipt(member.token)).latestReceiptInfo
    #expect(latest?.map(\.ownershipType) == Array(repeating: "FAMILY_SHARED", count: 3))
    #expect(try await store.buy(StoreHarness.issue, token: member.token).state == .restored)
  }

  @Test("sharing ends when the member leaves, by a control, and with a refund of the organizer's")
  func ends() async throws {
    let organizer = try await store.openNamedAccount()
    let first = try await store.openNamedAccount()
    let second = try await store.openNamedAccount()
    try await family(organizer, [first, second])
    let issue = try await store.buy(StoreHarness.issue, token: organizer.token)
    try await store.buy(StoreHarness.magazine, token: organizer.token)
    store.clock.advance(by: .seconds(60))
    try await family(organizer, [second])
    #expect(try await store.all(first.token).allSatisfy { $0.revocationDate == store.clock.now() })
    #expect(try await entries(first.token).allSatisfy { $0.cancellationDate != nil })
    #expect(try await store.all(second.token).allSatisfy { $0.revocationDate == nil })
    #expect(try await store.all(organizer.token).allSatisfy { $0.revocationDate == nil })

    _ = try await store.act("refund", on: issue)
    #expect(try await store.all(second.token).map { $0.revocationDate != nil } == [true, false])
    _ = try await store.act("reverse", on: issue)
    let reshared = try await store.all(second.token)
    #expect(reshared.map { $0.revocationDate != nil } == [true, false, false])
    #expect(reshared[2].product == StoreHarness.issue && reshared[2].originalId == reshared[0].id)
    let revoked = try await store.act("revoke", on: reshared[1])
    #expect(revoked.revocationDate == store.clock.now())
    #expect(try await store.all(organizer.token).allSatisfy { $0.revocationDate == nil })
  }

  @Test("a shared period ends with an upgrade, and with the subscription that a test ends")
  func periods() async throws {
    let organizer = try await store.openNamedAccount()
    let member = try await store.openNamedAccount()
    try await family(organizer, [member])
    try await store.buy(StoreHarness.magazine, token: organizer.token)
    store.clock.advance(by: .seconds(100))
    let better = try await store.buy(StoreHarness.premium, token: organizer.token)
    var shared = try await store.all(member.token)
    #expect(shared.map(\.product) == [StoreHarness.magazine, StoreHarness.premium])
    #expect(shared[0].expiresDate == better.purchaseDate)
    store.clock.advance(by: .seconds(50))
    let over = try await store.control("expire", better)
    shared = try await store.all(member.token)
    #expect(shared[1].expiresDate == over.expiresDate)
  }

  @Test("what a member restores of what is shared is shared too, and ends with it")
  func restoredShare() async throws {
    let organizer = try await store.openNamedAccount()
    let member = try await store.openNamedAccount()
    try await family(organizer, [member])
    let issue = try await store.buy(StoreHarness.issue, token: organizer.token)
    let restored: TransactionsResponse = try await store.call(
      .post, "/store/v1/restore", token: member.token,
      body: RestorePurchasesRequest(device: try #require(DeviceIdentifier("reader-2"))))
    #expect(restored.transactions.map(\.state) == [.restored])
    // Owners are named where there is a subscription.
    try await store.buy(StoreHarness.magazine, token: member.token)
    let latest = try await store.verify(store.receipt(member.token)).latestReceiptInfo ?? []
    #expect(
      latest.map(\.ownershipType).sorted { ($0 ?? "") < ($1 ?? "") } == [
        "FAMILY_SHARED", "FAMILY_SHARED", "PURCHASED",
      ])
    _ = try await store.act("refund", on: issue)
    let shared = try await store.all(member.token).filter { $0.product == StoreHarness.issue }
    #expect(shared.map { $0.revocationDate != nil } == [true, true])
  }

  @Test("an account is of one family, and a family of six")
  func bounds() async throws {
    let organizer = try await store.openNamedAccount()
    let member = try await store.openNamedAccount()
    let other = try await store.openNamedAccount()
    try await family(organizer, [member])
    func refusal(_ organizer: String, _ members: [String]) async throws -> ProblemCode? {
      try await store.refusal(
        .post, "/sandbox/v1/families",
        body: APIJSON.encode(StoreFamily(organizer: organizer, members: members)))
    }
    #expect(try await refusal(other.account, [member.account]) == .stateConflict)
    #expect(try await refusal(member.account, [other.account]) == .stateConflict)
    #expect(try await refusal(other.account, [organizer.account]) == .stateConflict)
    #expect(try await refusal(other.account, [other.account]) == .requestMalformed)
    #expect(try await refusal(other.account, ["none"]) == .notFound)
    #expect(try await refusal(other.account, (1...6).map { "m\($0)" }) == .requestMalformed)
  }

  private func license(seats: Int) async throws -> StoreLicense {
    try await store.call(
      .post, "/sandbox/v1/licences", body: LicenseRequest(product: StoreHarness.issue, seats: seats),
      status: 201)
  }

  private func seat(
    _ what: String, _ license: StoreLicense, _ account: AccountResponse
  ) async throws -> StoreLicense {
    try await store.call(
      .post, "/sandbox/v1/licences/\(license.license)/\(what)",
      body: LicenseSeatRequest(account: account.account))
  }

  @Test(
    "a license that is taken back ends in receipts thirty days later (attribute 21), and its seat is free at once"
  )
  func revokedLicense() async throws {
    let reader = try await store.openNamedAccount()
    let license = try await license(seats: 1)
    #expect(try await seat("assign", license, reader).accounts == [reader.account])
    let bought = try #require(try await store.all(reader.token).first)
    #expect(bought.price == nil && bought.device == nil && bought.product == StoreHarness.issue)
    var claims = try UnverifiedAppReceipt(base64: await store.receipt(reader.token)).claims
    #expect(claims.environmentName == "ProductionVPPSandbox" && claims.expirationDate == nil)

    #expect(try await seat("revoke", license, reader).accounts == [])
    let end = store.clock.now().wholeSeconds + .seconds(300)
    claims = try UnverifiedAppReceipt(base64: await store.receipt(reader.token)).claims
    #expect(claims.expirationDate == end && claims.purchases.allSatisfy { $0.cancellationDate == nil })
    let answer = try await store.verify(store.receipt(reader.token))
    #expect(answer.receipt?.expirationDate == end && answer.receipt?.receiptType == "ProductionVPPSandbox")

    let next = try await store.openNamedAccount()
    #expect(try await seat("assign", license, next).accounts == [next.account], "reassigned at once")
    store.clock.advance(by: .seconds(301))
    claims = try UnverifiedAppReceipt(base64: await store.receipt(reader.token)).claims
    #expect(claims.expirationDate == end && claims.purchases.map(\.cancellationDate) == [end])
    #expect(
      try await store.buy(StoreHarness.issue, token: reader.token).state == .purchased, "not owned any more")
    claims = try UnverifiedAppReceipt(base64: await store.receipt(reader.token)).claims
    #expect(claims.expirationDate == nil, "something else counts")
    claims = try UnverifiedAppReceipt(base64: await store.receipt(next.token)).claims
    #expect(claims.expirationDate == nil && claims.purchases.allSatisfy { $0.cancellationDate == nil })
  }

  @Test(
    "a license that is taken back is a change that every device sees, and a history that goes on lists it")
  func licenseRevision() async throws {
    let reader = try await store.openNamedAccount()
    func revision() async throws -> Int64? {
      try await store.get(
        "/store/v1/transactions?unfinished=true&device=reader-2", token: reader.token,
        as: TransactionsResponse.self
      ).revision
    }
    let license = try await license(seats: 1)
    _ = try await seat("assign", license, reader)
    let assigned = try #require(try await revision())
    let bought = try #require(try await store.all(reader.token).first)
    _ = try await store.finish(bought)
    #expect(try await revision() == assigned, "what is finished is still owned")
    _ = try await seat("revoke", license, reader)
    let revoked = try #require(try await revision())
    #expect(revoked > assigned)
    let changed = try await store.database.read {
      let account = try AccountTable.named(reader.account, in: $0).id
      return try TransactionTable.revised(
        in: $0, account: account, beyond: assigned, isAscending: true, limit: 10)
    }
    #expect(changed.map(\.transaction.id.description) == [bought.id.description])
  }

  @Test(
    "a license is of non-consumables, for as many accounts as it has seats, and back with the one it was taken from"
  )
  func seats() async throws {
    let license = try await license(seats: 1)
    let reader = try await store.openNamedAccount()
    let other = try await store.openNamedAccount()
    _ = try await seat("assign", license, reader)
    func refusal(_ what: String, _ id: Int64, _ account: String) async throws -> ProblemCode? {
      try await store.refusal(
        .post, "/sandbox/v1/licences/\(id)/\(what)",
        body: APIJSON.encode(LicenseSeatRequest(account: account)))
    }
    #expect(try await refusal("assign", license.license, other.account) == .stateConflict)
    #expect(try await refusal("revoke", license.license, other.account) == .notFound)
    #expect(try await refusal("assign", 99, reader.account) == .notFound)
    _ = try await seat("revoke", license, reader)
    _ = try await seat("assign", license, reader)
    let claims = try UnverifiedAppReceipt(base64: await store.receipt(reader.token)).claims
    #expect(claims.expirationDate == nil && claims.purchases.count == 2)
    let magazine: StoreLicense = try await store.call(
      .post, "/sandbox/v1/licences", body: LicenseRequest(product: StoreHarness.magazine, seats: 1),
      status: 201)
    #expect(try await refusal("assign", magazine.license, other.account) == .requestMalformed)
    let bad = try APIJSON.encode(LicenseRequest(product: StoreHarness.issue, seats: 0))
    #expect(try await store.refusal(.post, "/sandbox/v1/licences", body: bad) == .requestMalformed)
  }

  @Test("a copy that was restored of a license's seat ends with the license")
  func restoredSeat() async throws {
    let reader = try await store.openNamedAccount()
    let license = try await license(seats: 1)
    _ = try await seat("assign", license, reader)
    let restored: TransactionsResponse = try await store.call(
      .post, "/store/v1/restore", token: reader.token,
      body: RestorePurchasesRequest(device: try #require(DeviceIdentifier("reader-2"))))
    #expect(restored.transactions.map(\.state) == [.restored])
    _ = try await seat("revoke", license, reader)
    store.clock.advance(by: .seconds(301))
    #expect(try await entries(reader.token).map { $0.cancellationDate != nil } == [true, true])
  }
}

import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import SandboxRecords
import ServiceAPI
import Testing

@testable import SandboxStore

/// Renewals that are put off, of one subscription and of all.
@Suite("Extensions of renewals")
struct RenewalExtensionTests {
  let api: ServerAPIHarness

  init() throws {
    api = try ServerAPIHarness()
  }

  private var store: StoreHarness { api.store }

  private struct Answer: Decodable {
    var originalTransactionId: String
    var webOrderLineItemId: String
    var success: Bool
    var effectiveDate: Int64
  }

  private func body(days: String = "3", reason: String = "1", request: String = "\"a\"") -> String {
    "{\"extendByDays\":\(days),\"extendReasonCode\":\(reason),\"requestIdentifier\":\(request)}"
  }

  @Test(
    "a renewal is put off by days of a thirtieth of a month, twice in a year, and not again for the same request"
  )
  func single() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    let path = "/v1/subscriptions/extend/\(bought.id)"
    let expires = try #require(bought.expiresDate).millisecondsSinceEpoch
    for _ in 0..<2 {
      let answer: Answer = try await api.call(.put, path, body: body())
      #expect(answer.effectiveDate == expires + 30_000 && answer.success)
      #expect(answer.originalTransactionId == bought.id.description)
      #expect(answer.webOrderLineItemId == bought.id.description)
    }
    let second: Answer = try await api.call(.put, path, body: body(days: "1", request: "\"b\""))
    #expect(second.effectiveDate == expires + 40_000)
    #expect(try await api.refusal(.put, path, body: body(request: "\"c\"")) == 4_030_005)
    store.clock.advance(by: .seconds(340))
    let periods = try await store.all(token)
    #expect(periods.count == 2)
    #expect(periods[0].expiresDate == periods[1].purchaseDate)
    #expect(periods[1].purchaseDate.millisecondsSinceEpoch == expires + 40_000)
    #expect(
      try await api.notifications() == [
        "SUBSCRIBED INITIAL_BUY", "RENEWAL_EXTENDED", "RENEWAL_EXTENDED", "DID_RENEW",
      ])
  }

  @Test("what does not run, is unknown or shared is not extended, and each member has its error")
  func refusals() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    let issue = try await store.buy(StoreHarness.issue, token: token)
    let path = "/v1/subscriptions/extend/"
    #expect(try await api.refusal(.put, path + "x", body: body()) == 4_000_008)
    #expect(try await api.refusal(.put, path + "1", body: body()) == 4_040_005)
    #expect(try await api.refusal(.put, path + "\(issue.id)", body: body()) == 4_040_005)
    let own = path + "\(bought.id)"
    for days in ["0", "91", "null", "\"3\""] {
      #expect(try await api.refusal(.put, own, body: body(days: days)) == 4_000_009)
    }
    #expect(try await api.refusal(.put, own, body: body(reason: "4")) == 4_000_010)
    #expect(try await api.refusal(.put, own, body: body(request: "\"\"")) == 4_000_011)
    #expect(try await api.refusal(.put, own, body: "[]") == 4_000_000)
    try await api.control("subscriptions/\(bought.id)/expire")
    #expect(try await api.refusal(.put, own, body: body()) == 4_030_004)
  }

  @Test("what a family shares cannot be extended")
  func shared() async throws {
    let organizer = try await store.openNamedAccount()
    let member = try await store.openNamedAccount()
    let family = StoreFamily(organizer: organizer.account, members: [member.account])
    try await api.control("families", body: family)
    try await store.buy(StoreHarness.magazine, token: organizer.token)
    try await store.buy(StoreHarness.issue, token: organizer.token)
    let shares = try await store.all(member.token)
    #expect(shares.map(\.product) == [StoreHarness.magazine, StoreHarness.issue])
    let path = "/v1/subscriptions/extend/"
    #expect(try await api.refusal(.put, path + "\(shares[0].id)", body: body()) == 4_030_007)
    #expect(try await api.refusal(.put, path + "\(shares[1].id)", body: body()) == 4_040_005)
    // Nor has what is shared an account of the member's application.
    let token = "{\"appAccountToken\":\"7e3973a5-97d4-4f63-9e36-8a2b3bd8f6a1\"}"
    let account = "/v1/transactions/\(shares[0].id)/appAccountToken"
    #expect(try await api.refusal(.put, account, body: token) == 4_000_185)
  }

  private struct Progress: Decodable {
    var requestIdentifier: String
    var complete: Bool
    var completeDate: Int64?
    var succeededCount: Int64?
    var failedCount: Int64?
  }

  @Test(
    "all subscriptions of a product are extended, in the storefronts that were named, and the summary tells how many"
  )
  func all() async throws {
    var first: StoreTransaction?
    for _ in 0..<3 {
      let bought = try await store.buy(StoreHarness.magazine, token: try await store.openAccount())
      first = first ?? bought
    }
    _ = try await store.buy(StoreHarness.yearly, token: try await store.openAccount())
    let exhausted = try #require(first)
    for name in ["\"a\"", "\"b\""] {
      let _: Answer = try await api.call(
        .put, "/v1/subscriptions/extend/\(exhausted.id)", body: body(request: name))
    }
    let request = """
      {"extendByDays":3,"extendReasonCode":3,"requestIdentifier":"outage","productId":"\(StoreHarness.magazine)",\
      "storefrontCountryCodes":["FRA","USA"]}
      """
    let begun: [String: String] = try await api.call(.post, "/v1/subscriptions/extend/mass", body: request)
    #expect(begun == ["requestIdentifier": "outage"])
    let path = "/v1/subscriptions/extend/mass/\(StoreHarness.magazine)/outage"
    let before: Progress = try await api.call(.get, path)
    #expect(!before.complete && before.succeededCount == nil)
    while try await store.store.continueMassExtension() {}
    let after: Progress = try await api.call(.get, path)
    #expect(after.complete && after.succeededCount == 2 && after.failedCount == 1)
    #expect(after.completeDate == store.clock.now().millisecondsSinceEpoch)
    let told = try await api.written().suffix(2)
    #expect(told.map(\.subtype) == [.failure, .summary])
    #expect(told.first?.content.transaction?.originalTransactionId == exhausted.id.description)
    let summary = try #require(told.last?.content.summary)
    #expect(summary.succeededCount == 2 && summary.failedCount == 1)
    #expect(summary.storefrontCountryCodes == ["FRA", "USA"] && summary.requestIdentifier == "outage")
    #expect(try await api.refusal(.get, path + "x") == 4_040_009)
  }

  @Test(
    "a request for all is refused for a list of storefronts that is empty or wrong, and for no product",
    arguments: [
      ("\"storefrontCountryCodes\":[]", 4_000_027), ("\"storefrontCountryCodes\":[\"fr\"]", 4_000_028),
      ("\"productId\":\" \"", 4_000_023), ("\"extendByDays\":0", 4_000_009),
    ])
  func badRequestsForAll(member: String, code: Int) async throws {
    var members = [
      "extendByDays": "\"extendByDays\":3", "extendReasonCode": "\"extendReasonCode\":0",
      "requestIdentifier": "\"requestIdentifier\":\"a\"", "productId": "\"productId\":\"com.example.a\"",
    ]
    members[String(member.split(separator: "\"")[0])] = member
    let body = "{\(members.values.joined(separator: ","))}"
    #expect(try await api.refusal(.post, "/v1/subscriptions/extend/mass", body: body) == code)
  }
}

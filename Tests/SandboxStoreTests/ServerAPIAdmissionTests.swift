import Commerce
import CoreTypes
import Crypto
import Database
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import SandboxStore

/// The callers that may ask under `/inApps`, how often, and what reports may say.
@Suite("Admission to the App Store Server API")
struct ServerAPIAdmissionTests {
  let api: ServerAPIHarness

  init() throws {
    api = try ServerAPIHarness()
  }

  private func status(_ token: String?) async throws -> Int {
    let answer = try await api.send(.get, "/inApps/v1/lookup/MT1", token: token)
    if answer.status == 401 { #expect(answer.headers["Content-Type"] == "text/plain") }
    return answer.status
  }

  @Test("a token counts with and without the date of its making, and unknown claims are ignored")
  func goodTokens() async throws {
    #expect(try await status(api.token()) == 200)
    #expect(try await status(api.token(expires: 3600, issued: 0)) == 200)
    #expect(try await status(api.token(expires: 3660)) == 200)
  }

  @Test("any other token is refused with 401 in plain text")
  func badTokens() async throws {
    #expect(try await status(nil) == 401)
    #expect(try await status("a.b.c") == 401)
    #expect(try await status(api.token(header: ["alg": "none"])) == 401)
    #expect(try await status(api.token(header: ["alg": "HS256"])) == 401)
    #expect(try await status(api.token(header: ["kid": "KLMNOPQRST"])) == 401)
    #expect(try await status(api.token(claims: ["iss": "another"])) == 401)
    #expect(try await status(api.token(claims: ["aud": "appstoreconnect-v2"])) == 401)
    #expect(try await status(api.token(claims: ["bid": "com.example.another"])) == 401)
    #expect(try await status(api.token(expires: -61)) == 401)
    // More than an hour: from its making, or from now.
    #expect(try await status(api.token(expires: 3601, issued: 0)) == 401)
    #expect(try await status(api.token(expires: 3662)) == 401)
    #expect(try await status(api.token(expires: 300, issued: 120)) == 401)
    #expect(try await status(api.token(key: ES256Key())) == 401)
    var changed = try api.token()
    changed.removeLast(2)
    #expect(try await status(changed) == 401)
  }

  @Test("one request too many in an hour is 429, with the end of the hour in milliseconds")
  func rates() async throws {
    let api = try ServerAPIHarness(limits: ServerAPIRateLimits(perHour: [.lookup: 2]))
    for _ in 0..<2 {
      #expect(try await api.send(.get, "/inApps/v1/lookup/MT1", token: api.token()).status == 200)
    }
    let refused = try await api.send(.get, "/inApps/v1/lookup/MT1", token: api.token())
    #expect(refused.status == 429)
    let hour = (api.store.clock.now().secondsSinceEpoch / 3600 + 1) * 3_600_000
    #expect(refused.headers["Retry-After"] == String(hour))
    #expect(try await api.refusal(.get, "/v1/lookup/MT1") == 4_290_000)
    // Other kinds have counts of their own.
    #expect(try await api.refusal(.get, "/v1/transactions/x") == 4_000_006)
    api.store.clock.advance(by: .seconds(3600))
    #expect(try await api.send(.get, "/inApps/v1/lookup/MT1", token: api.token()).status == 200)
  }

  @Test("the sandbox's rates are a tenth of those of production")
  func sandboxRates() {
    #expect(ServerAPIRateLimits.production.perHour[.reading] == 50 * 3600)
    #expect(ServerAPIRateLimits.sandbox.perHour[.reading] == 5 * 3600)
    #expect(ServerAPIRateLimits.sandbox.perHour[.changing] == 2 * 3600)
    #expect(ServerAPIRateLimits.sandbox.perHour[.lookup] == 3600)
  }

  @Test("reports of consumption of both versions are kept, and answered 202 without a body")
  func consumption() async throws {
    let token = try await api.store.openAccount()
    let coins = try await api.store.buy(StoreHarness.coins, token: token)
    let issue = try await api.store.buy(StoreHarness.issue, token: token)
    let first = """
      {"accountTenure":1,"appAccountToken":"","consumptionStatus":3,"customerConsented":true,"deliveryStatus":0,\
      "lifetimeDollarsPurchased":7,"lifetimeDollarsRefunded":0,"platform":1,"playTime":7,"refundPreference":2,\
      "sampleContentProvided":false,"userStatus":1}
      """
    let second = """
      {"customerConsented":true,"sampleContentProvided":true,"deliveryStatus":"DELIVERED",\
      "consumptionPercentage":50000,"refundPreference":"GRANT_PRORATED"}
      """
    for (version, body) in [("v1", first), ("v2", second)] {
      let path = "/inApps/\(version)/transactions/consumption/\(coins.id)"
      let answer = try await api.send(.put, path, token: api.token(), body: body)
      #expect(answer.status == 202 && answer.body.isEmpty)
    }
    let kept = try await api.store.database.read { connection in
      try connection.query("SELECT document FROM consumption_reports ORDER BY version")
        .map { try $0.text("document") }
    }
    #expect(kept == [first, second])
    #expect(try await api.refusal(.put, "/v1/transactions/consumption/\(issue.id)", body: first) == 4_000_047)
  }

  @Test(
    "a field of a report that cannot be is refused by the code of its own",
    arguments: [
      ("v1", "accountTenure", "8", 4_000_032), ("v1", "appAccountToken", "\"me\"", 4_000_033),
      ("v1", "consumptionStatus", "4", 4_000_034), ("v1", "customerConsented", "false", 4_000_035),
      ("v1", "deliveryStatus", "6", 4_000_036), ("v1", "lifetimeDollarsPurchased", "8", 4_000_037),
      ("v1", "lifetimeDollarsRefunded", "-1", 4_000_038), ("v1", "platform", "3", 4_000_039),
      ("v1", "playTime", "8", 4_000_040), ("v1", "sampleContentProvided", "1", 4_000_041),
      ("v1", "userStatus", "5", 4_000_042), ("v1", "refundPreference", "4", 4_000_000),
      ("v2", "customerConsented", "false", 4_000_035), ("v2", "deliveryStatus", "0", 4_000_036),
      ("v2", "sampleContentProvided", "null", 4_000_041),
      ("v2", "consumptionPercentage", "100001", 4_000_000),
      ("v2", "refundPreference", "\"MAYBE\"", 4_000_000),
    ])
  func consumptionErrors(version: String, field: String, value: String, code: Int) async throws {
    let token = try await api.store.openAccount()
    let coins = try await api.store.buy(StoreHarness.coins, token: token)
    var members = ["customerConsented": "true", "sampleContentProvided": "true"]
    if version == "v2" { members["deliveryStatus"] = "\"DELIVERED\"" }
    members[field] = value
    let body = "{\(members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
    let path = "/\(version)/transactions/consumption/\(coins.id)"
    #expect(try await api.refusal(.put, path, body: body) == code)
  }

  @Test("a body that is no JSON object, or too long, is 4000000")
  func badBodies() async throws {
    let token = try await api.store.openAccount()
    let coins = try await api.store.buy(StoreHarness.coins, token: token)
    for body in ["[]", "{", String(repeating: " ", count: 20_000)] {
      #expect(
        try await api.refusal(.put, "/v2/transactions/consumption/\(coins.id)", body: body) == 4_000_000)
    }
  }
}

import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("A release that pauses itself", .timeLimit(.minutes(2)))
struct ReleaseStopTests {
  private static let product = "com.example.issue1"

  private func run(
    options: [String] = [], _ body: (ServerHarness) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: ["--store-device-limit", "1000"] + options) { server in
      try await server.publish([1, 2, 3])
      try await body(server)
    }
  }

  /// A grant for a purchase and a device of their own, and a second later, its content on the device.
  private func grant(
    _ number: Int, purchase: Int? = nil, fetches: Bool = true, on server: ServerHarness
  ) async throws -> GrantResponse {
    let device = Device(id: try #require(DeviceIdentifier("device-\(number)")))
    let bought = server.purchase(id: "\(3_000_000_000_000_000 + (purchase ?? number))")
    let receipt = try server.store.receipt(of: [bought], device: device.id)
    let grant = try await server.grant(receipt: receipt, device: device).value
    if fetches { _ = try await server.fetch(grant) }
    return grant
  }

  private func place(_ number: Int, on server: ServerHarness) async throws -> GrantResponse {
    let placed = try await grant(number, on: server)
    var report = server.report(placed)
    report.device = DeviceIdentifier("device-\(number)")
    _ = try await server.complete(placed, report)
    return placed
  }

  /// Reports a second later.
  private func fail(
    _ grant: GrantResponse, digest: SHA256Digest? = nil, after pause: Duration = .seconds(1),
    on server: ServerHarness
  ) async throws {
    server.clock.advance(by: pause)
    _ = try await server.owner(of: grant).call(
      "POST", "/v1/grants/\(grant.grant)/failure",
      body: VerificationFailure(digest: digest ?? grant.download.digest, version: grant.download.version),
      as: CompletionResponse.self)
  }

  private func version(on server: ServerHarness) async throws -> VersionRecord {
    try await server.operatorAPI.get("/v1/operator/products/\(Self.product)/versions/1.0")
  }

  @Test(
    "of fifty purchases whose devices could not verify it, the last pauses the release, and the audit log says why"
  )
  func pauses() async throws {
    try await run { server in
      for number in 1...49 { try await fail(try await grant(number, on: server), on: server) }
      // The same device again is no other.
      try await fail(try await grant(1, on: server), on: server)
      #expect(try await version(on: server).state == .released)
      try await fail(try await grant(50, on: server), on: server)
      let paused = try await version(on: server)
      #expect(paused.state == .superseded)
      #expect(paused.reason == "devices of 50 of 50 purchases could not verify it")
      let entry = try #require(
        try await server.operatorAPI.get(
          "/v1/operator/audit", query: [("action", "version.pause")], as: Page<AuditEntry>.self
        ).items.first)
      #expect(entry.actor == "server" && entry.subject == "\(Self.product) 1.0")
      #expect(entry.detail == "devices of 50 of 50 purchases could not verify it")
      let refused = try await server.problem { _ = try await grant(51, on: server) }
      #expect(refused.code == .versionUnknown)
      let page = String(
        decoding: try await server.operatorAPI.exchange("GET", "/metrics").body, as: UTF8.self)
      #expect(page.contains("pullbox_releases_paused_total 1"))
      #expect(page.contains("pullbox_verification_failures_total 51"))

      // Released again, it begins anew.
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/products/\(Self.product)/versions/1.0/release", body: ReasonBody(),
        as: VersionRecord.self)
      try await fail(try await grant(52, on: server), on: server)
      #expect(try await version(on: server).state == .released)
    }
  }

  @Test(
    "a release that paused itself stands on the page of today, days later too, until it is released again"
  )
  func today() async throws {
    try await run(options: ["--console", "everywhere"]) { server in
      func today() async throws -> String {
        let browser = ConsoleBrowser(server)
        try await browser.signIn()
        return try await browser.get("/console/").text
      }
      for number in 1...50 { try await fail(try await grant(number, on: server), on: server) }
      let paused = "The release of \(Self.product) 1.0 paused itself"
      #expect(try await today().contains(paused))
      server.clock.advance(by: .seconds(5 * 86_400))
      #expect(try await today().contains(paused))
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/products/\(Self.product)/versions/1.0/release", body: ReasonBody(),
        as: VersionRecord.self)
      #expect(try await !today().contains(paused))
    }
  }

  @Test("a release that paused itself is found on the page of today behind hundreds that were dealt with")
  func todayBehindOthers() async throws {
    try await run(options: ["--console", "everywhere"]) { server in
      for number in 1...50 { try await fail(try await grant(number, on: server), on: server) }
      let now = server.clock.now()
      try await server.server.collector.database.write(locking: []) { connection in
        for number in 1...199 {
          try AuditTable.add(
            AuditEntry(
              at: now + .seconds(1), actor: "server", action: "version.pause",
              subject: "com.example.other\(number) 1.0"), in: connection)
        }
      }
      server.clock.advance(by: .seconds(2))
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      #expect(
        try await browser.get("/console/").text.contains("The release of \(Self.product) 1.0 paused itself"))
    }
  }

  @Test("a purchase of which a device placed the content after all counts as verified")
  func placedAfterAll() async throws {
    try await run { server in
      for number in 1...49 { try await fail(try await grant(number, on: server), on: server) }
      let placed = try await place(1, on: server)
      // 48 failed and one verified.
      try await fail(placed, on: server)
      #expect(try await version(on: server).state == .released)
      // One more failed: 49 of 50.
      try await fail(try await grant(50, on: server), on: server)
      #expect(try await version(on: server).reason == "devices of 49 of 50 purchases could not verify it")
    }
  }

  @Test("one purchase counts once, on however many devices it fails")
  func onePurchase() async throws {
    try await run { server in
      for number in 1...49 { _ = try await place(number, on: server) }
      for number in 50...59 { try await fail(try await grant(number, purchase: 50, on: server), on: server) }
      #expect(try await version(on: server).state == .released)
      try await fail(try await grant(60, on: server), on: server)
      #expect(try await version(on: server).reason == "devices of 2 of 51 purchases could not verify it")
    }
  }

  @Test("devices that were sent nothing of the content pause nothing")
  func nothingSent() async throws {
    try await run { server in
      for number in 1...50 { try await fail(try await grant(number, fetches: false, on: server), on: server) }
      #expect(try await version(on: server).state == .released)
    }
  }

  @Test("failures are counted once a second, and those of between with the next report, also a repeated one")
  func countedBySecond() async throws {
    try await run { server in
      for number in 1...50 { try await fail(try await grant(number, on: server), after: .zero, on: server) }
      #expect(try await version(on: server).state == .released)
      try await fail(try await grant(50, on: server), on: server)
      #expect(try await version(on: server).state == .superseded)
    }
  }

  @Test("each version is counted once in a second, and a clock that is set back delays nothing")
  func schedule() throws {
    let product = try #require(ProductIdentifier(Self.product))
    let (first, second) = (try #require(ContentVersion("1.0")), try #require(ContentVersion("1.1")))
    let start = ServerHarness.start
    var schedule = FailureCountSchedule()
    let asked = [
      (first, 0), (first, 999), (second, 999), (first, 1000), (first, 1500), (first, 500), (first, 1400),
    ].map { version, milliseconds in
      schedule.isDue(product, version, at: start + .milliseconds(milliseconds))
    }
    #expect(asked == [true, false, true, true, false, true, false])
  }

  private static func holding(_ secret: String, _ grant: GrantResponse) -> GrantResponse {
    var grant = grant
    grant.renewalSecret = secret
    return grant
  }

  @Test("a report needs the device's own proof, and the content that was granted")
  func refused() async throws {
    try await run { server in
      let made = try await grant(1, on: server)
      let other = Self.holding("another", made)
      let stranger = try await server.problem { try await fail(other, on: server) }
      #expect(stranger.status == 403)
      let digest = SHA256Digest.of([9])
      let refused = try await server.problem { try await fail(made, digest: digest, on: server) }
      #expect(refused.code == .completionMismatch && refused.missingStep == CompletionStep.digest.rawValue)
    }
  }
}

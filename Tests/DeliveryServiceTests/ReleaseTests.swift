import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("Releasing")
struct ReleaseTests {
  private static let first = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
  private let first = Self.first
  private static let second = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  private let second = Self.second

  private let early = ServerHarness.early
  private let late = ServerHarness.late

  @Test("a release to a part gives the others the version before, and raising it only adds devices")
  func part() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.approve(second, "1.1")
      #expect(try await server.release("1.1", to: 10).percentage == 10)
      #expect(try await server.offered(to: early) == "1.1")
      #expect(try await server.offered(to: late) == "1.0")
      // The public catalog's word is true for every client.
      #expect(try await server.listing()?.contentVersion?.description == "1.0")
      try await server.release("1.1", to: 50)
      #expect(try await server.offered(to: early) == "1.1")
      #expect(try await server.offered(to: late) == "1.1")
      #expect(try await server.listing()?.contentVersion?.description == "1.0")
      try await server.release("1.1")
      #expect(try await server.listing()?.contentVersion?.description == "1.1")
    }
  }

  @Test("a product or version that there is not is answered with the nearest, and with those that there are")
  func unknown() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      for version in ["1.1", "1.2", "1.3", "1.4", "1.5"] {
        try await server.approve(second + Array(version.utf8), version)
      }
      func detail(_ product: String, _ version: String) async throws -> String? {
        try await server.problem { _ = try await server.step("release", version, of: product) }.detail
      }
      #expect(
        try await detail("com.example.issue1", "9.9")
          == "com.example.issue1 has no version 9.9; it has 1.5, 1.4, 1.3, 1.2, 1.1, …")
      #expect(
        try await detail("com.example.isue1", "1.0")
          == "no product is named com.example.isue1; did you mean com.example.issue1?")
      #expect(try await detail("com.example.other", "1.0") == "no product is named com.example.other")
    }
  }

  @Test("the plan for a restore names the version that the device would get")
  func entitlements() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.approve(second, "1.1")
      try await server.release("1.1", to: 10)
      for (device, version) in [(early, "1.1"), (late, "1.0")] {
        let receipt = try server.store.receipt(of: [server.purchase()], device: device.id)
        let plan = try await server.api.call(
          "POST", "/v1/entitlements",
          body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: device),
          as: EntitlementsResponse.self
        ).value
        #expect(plan.products.map(\.version.description) == [version])
      }
    }
  }

  @Test("by name a device gets what is released to it, or was before, and nothing else")
  func byName() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.approve(second, "1.1")
      try await server.release("1.1", to: 10)
      #expect(try await server.offered(to: early, version: "1.0") == "1.0")
      #expect(try await server.offered(to: early, version: "1.1") == "1.1")
      let refused = try await server.problem { _ = try await server.offered(to: late, version: "1.1") }
      #expect(refused.code == .versionUnknown)
      try await server.release("1.1")
      #expect(try await server.offered(to: late, version: "1.0.0") == "1.0")
    }
  }

  @Test("releasing an older version is the way back, also while a part has the newer one")
  func rollBack() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.approve(second, "1.1")
      try await server.release("1.1", to: 10)
      try await server.release("1.0")
      #expect(try await server.offered(to: early) == "1.0")
      try await server.release("1.1")
      #expect(try await server.offered(to: late) == "1.1")
      try await server.release("1.0")
      #expect(try await server.offered(to: late) == "1.0")
      let entries = try await server.audit([("action", "version.release")])
      #expect(entries.map(\.subject.last) == ["0", "1", "0", "1", "0"])
      #expect(entries.map(\.detail).contains("to 10 % of devices"))
    }
  }

  @Test(
    "a first version that only a part gets is for sale to these devices, and to no client that names none"
  )
  func firstToPart() async throws {
    try await ServerHarness.run { server in
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.issue1", body: ProductDescription(),
        as: OperatorProduct.self)
      try await server.approve(first, "1.0")
      try await server.release("1.0", to: 10)
      #expect(try await server.productsForSale() == [])
      #expect(try await server.listing() == nil)
      #expect(try await server.listing(for: early)?.contentVersion?.description == "1.0")
      #expect(try await server.listing(for: late) == nil)
      #expect(try await server.offered(to: early) == "1.0")
      let refused = try await server.problem { _ = try await server.offered(to: late) }
      #expect(refused.code == .versionUnknown)
      #expect(
        refused.detail
          == "com.example.issue1 1.0 is released to a part of the devices so far, and this device is not among them; ask "
          + "again later")
      try await server.release("1.0")
      #expect(try await server.productsForSale() == ["com.example.issue1"])
      #expect(try await server.listing(for: late)?.contentVersion?.description == "1.0")
    }
  }

  @Test("for a device the catalog shows the version that it would get")
  func listingForDevice() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.approve(second, "1.1")
      try await server.release("1.1", to: 10)
      #expect(try await server.listing(for: early)?.contentVersion?.description == "1.1")
      #expect(try await server.listing(for: early)?.contentLength == ByteCount(60_000))
      #expect(try await server.listing(for: late)?.contentVersion?.description == "1.0")
      let refused = try await server.problem {
        _ = try await server.api.get(
          "/v1/products", query: [("id", "com.example.issue1"), ("device", "a b")], as: ProductsResponse.self)
      }
      #expect(refused.code == .requestMalformed)
    }
  }

  @Test(
    "a withdrawn version is gone for new grants and from the catalog; a part keeps what was released to it")
  func withdrawn() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.approve(second, "1.1")
      try await server.release("1.1", to: 10)
      let record = try await server.step("withdraw", "1.0", WithdrawalRequest(reason: "a page is missing"))
      #expect(record.reason == "a page is missing")
      #expect(try await server.productsForSale() == [])
      #expect(try await server.offered(to: early) == "1.1")
      let refused = try await server.problem { _ = try await server.offered(to: late) }
      #expect(refused.code == .contentWithdrawn)
      let byName = try await server.problem { _ = try await server.offered(to: early, version: "1.0") }
      #expect(byName.code == .contentWithdrawn)
    }
  }

  @Test("a withdrawn version comes back under another name, never under its own")
  func withdrawnForGood() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.step("withdraw", "1.0", WithdrawalRequest())
      let refused = try await server.problem { try await server.release("1.0") }
      #expect(refused.code == .stateConflict)
      try await server.approve(first, "1.0.1")
      try await server.release("1.0.1")
      #expect(try await server.offered(to: late) == "1.0.1")
    }
  }

  @Test("a version with the package of another one has its own manifest, which is the one that is sent")
  func manifests() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      let before = try await server.grant(to: late)
      try await server.step("withdraw", "1.0", WithdrawalRequest())
      try await server.approve(first, "1.0.1")
      try await server.release("1.0.1")
      let after = try await server.grant(to: late)
      #expect(before.download.digest == after.download.digest)
      #expect(before.download.manifestDigest != after.download.manifestDigest)
      for grant in [before, after] {
        let url = server.api.url(
          grant.download.manifestURL, query: [("ticket", grant.download.ticket)])
        let response = try await server.client.send(ClientRequest(method: "GET", url: url))
        #expect(SHA256Digest.of(response.body) == grant.download.manifestDigest)
      }
    }
  }

  @Test("grants made before a withdrawal go on to their end")
  func liveGrants() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      let grant = try await server.grant(to: late)
      try await server.step("withdraw", "1.0", WithdrawalRequest())
      _ = try await server.renew(grant)
      try await server.deliver(grant, to: late)
      #expect(try await server.status(grant).state == .finished)
    }
  }

  @Test(
    "with its downloads stopped, a withdrawn version is opened by no grant, until its content is released again"
  )
  func stopDownloads() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      let grant = try await server.grant(to: late)
      #expect(try await server.fetch(grant).status == 200)
      let record = try await server.step("withdraw", "1.0", WithdrawalRequest(stopDownloads: true))
      #expect(record.downloadsStopped == true)
      #expect(try await server.fetch(grant).status == 410)
      let ticket = try await server.problem {
        _ = try await server.renew(grant)
      }
      #expect(ticket.code == .contentWithdrawn)
      try await server.approve(first, "1.0.1")
      #expect(try await server.fetch(grant).status == 410)
      try await server.release("1.0.1")
      #expect(try await server.fetch(grant).status == 200)
    }
  }

  @Test("downloads of a package are not stopped while another version with the same package may be had")
  func sharedPackage() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.publish(first, as: "com.example.issue2")
      let refused = try await server.problem {
        try await server.step("withdraw", "1.0", WithdrawalRequest(stopDownloads: true))
      }
      #expect(refused.code == .stateConflict)
      #expect(refused.detail?.contains("com.example.issue2 1.0") == true)
      // Refused as a whole: it is not half withdrawn.
      #expect(try await server.offered(to: late) == "1.0")
    }
  }

  @Test("a percentage is a whole number from 1 to 100", arguments: ["0", "101", "-1", "12.5", "\"10\""])
  func percentages(text: String) async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      let problem = try await server.problem {
        _ = try await server.operatorAPI.call(
          "POST", server.path("com.example.issue1", "1.0") + "/release",
          bytes: Array("{\"percentage\":\(text)}".utf8), mediaType: "application/json", as: VersionRecord.self
        )
      }
      #expect(problem.code == .requestMalformed)
    }
  }

  @Test("what all devices have is not taken back to a part of them")
  func narrowing() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      let problem = try await server.problem { try await server.release("1.0", to: 50) }
      #expect(problem.code == .stateConflict)
    }
  }

  @Test("a release with a date waits for it, and can be given another date or none")
  func scheduled() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.approve(second, "1.1")
      let date = server.clock.now() + .seconds(3600)
      let waiting = try await server.release("1.1", to: 10, at: date)
      #expect(waiting.state == .approved)
      #expect(waiting.scheduled == ScheduledRelease(at: date, percentage: 10, by: "operator"))
      #expect(try await server.listing()?.contentVersion?.description == "1.0")
      #expect(try await server.offered(to: early) == "1.0")
      let moved = try await server.release("1.1", at: date + .seconds(60))
      #expect(moved.scheduled?.percentage == 100)
      let cancelled = try await server.operatorAPI.call(
        "DELETE", server.path("com.example.issue1", "1.1") + "/release", body: EmptyBody?.none,
        as: VersionRecord.self
      ).value
      #expect(cancelled.scheduled == nil)
      #expect(cancelled.state == .approved)
    }
  }

  @Test("a date that has passed is at once")
  func pastDate() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.approve(second, "1.1")
      #expect(try await server.release("1.1", at: server.clock.now()).state == .released)
    }
  }

  @Test("a version's history says who did what with it")
  func history() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      let record = try await server.operatorAPI.get(
        server.path("com.example.issue1", "1.0"), as: VersionRecord.self)
      #expect(
        record.history?.map(\.action) == [
          "version.release", "version.approve", "version.submit", "version.create",
        ])
      #expect(record.submittedBy == "operator")
      #expect(record.approvedBy == "operator")
      #expect(record.percentage == 100)
    }
  }
}

import Commerce
import CoreTypes
import DeliveryModel
import Foundation
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("How deliveries and releases go, in the interface and in the console", .timeLimit(.minutes(2)))
struct ConsoleDeliveryTests {
  private static let everywhere = ["--console", "everywhere", "--store-device-limit", "1000"]
  private static let product = "com.example.issue1"

  private func device(_ number: Int) throws -> Device {
    Device(id: try #require(DeviceIdentifier("device-\(number)")))
  }

  private func grant(_ number: Int, on server: ServerHarness) async throws -> GrantResponse {
    let device = try device(number)
    let bought = server.purchase(id: "\(3_000_000_000_000_000 + number)")
    let receipt = try server.store.receipt(of: [bought], device: device.id)
    return try await server.grant(receipt: receipt, device: device).value
  }

  private func place(_ grant: GrantResponse, _ number: Int, on server: ServerHarness) async throws {
    var report = server.report(grant)
    report.device = try device(number).id
    _ = try await server.complete(grant, report)
  }

  private func fail(_ grant: GrantResponse, on server: ServerHarness) async throws {
    _ = try await server.owner(of: grant).call(
      "POST", "/v1/grants/\(grant.grant)/failure",
      body: VerificationFailure(digest: grant.download.digest, version: grant.download.version),
      as: CompletionResponse.self)
  }

  private func list(
    _ query: [(String, String)] = [], on server: ServerHarness
  ) async throws -> PullboxAPI.Page<OperatorGrant> {
    try await server.operatorAPI.get("/v1/operator/deliveries", query: query)
  }

  private func failures(on server: ServerHarness) async throws -> DeliveryFailures {
    try await server.operatorAPI.get("/v1/operator/deliveries/failures")
  }

  private func progress(of grant: GrantResponse, on server: ServerHarness) async throws -> DeliveryProgress? {
    let name = try server.shortName(of: grant)
    let one: OperatorGrant = try await server.operatorAPI.get("/v1/operator/grants/\(name)")
    let all = try await list(on: server).items
    let listed = try #require(all.first { "\($0.grant)" == name })
    #expect(listed.progress == one.progress && listed.lastSent == one.lastSent)
    return one.progress
  }

  @Test(
    "a delivery waits, goes on, and is stuck once ten minutes have brought no byte; placed, it is none of these"
  )
  func stuck() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish([1, 2, 3])
      let grant = try await grant(1, on: server)
      #expect(try await progress(of: grant, on: server) == .waiting)
      server.clock.advance(by: .seconds(599))
      #expect(try await progress(of: grant, on: server) == .waiting)
      server.clock.advance(by: .seconds(1))
      #expect(try await progress(of: grant, on: server) == .stuck)

      _ = try await server.fetch(grant, headers: [("Range", "bytes=0-1")])
      // Before the bytes are written down, and after.
      #expect(try await progress(of: grant, on: server) == .fetching)
      try await server.server.components.content.recorder.record()
      let sent = server.clock.now()
      server.clock.advance(by: .seconds(599))
      #expect(try await progress(of: grant, on: server) == .fetching)
      server.clock.advance(by: .seconds(1))
      #expect(try await progress(of: grant, on: server) == .stuck)
      #expect(try await list([("progress", "stuck")], on: server).items.map(\.lastSent) == [sent])
      #expect(try await list([("progress", "fetching")], on: server).items.isEmpty)

      // The first ticket has ended meanwhile.
      let ticket = try await server.renew(grant).ticket
      _ = try await server.fetch(grant, ticket: ticket)
      try await place(grant, 1, on: server)
      #expect(try await progress(of: grant, on: server) == nil)
      #expect(try await list([("progress", "stuck")], on: server).items.isEmpty)
      #expect(try await failures(on: server).failures.isEmpty)
    }
  }

  @Test("failures are counted by reason and application; a page of them goes on behind what was looked at")
  func reasons() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish([1, 2, 3])
      var grants: [GrantResponse] = []
      for number in 1...5 { grants.append(try await grant(number, on: server)) }
      _ = try await server.fetch(grants[0])
      try await fail(grants[0], on: server)
      let name = try server.shortName(of: grants[1])
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(name)/revoke", body: ReasonBody(), as: OperatorGrant.self)
      server.clock.advance(by: .seconds(600))
      grants.append(try await grant(6, on: server))

      let sums = try await failures(on: server)
      #expect(sums.waiting == 1 && sums.fetching == 0 && sums.looked == 6 && sums.isComplete)
      #expect(sums.failures.map(\.reason) == ["stuck", "revoked", "unverified"])
      #expect(sums.failures.map(\.grants) == [3, 1, 1])
      #expect(sums.failures.map(\.devices) == [3, 1, 1])
      let application = try await list([("progress", "unverified")], on: server).items.first?.application
      #expect(sums.failures.allSatisfy { $0.application == application })

      let first = try await list([("progress", "stuck"), ("limit", "2")], on: server)
      #expect(first.items.map { "\($0.device)" } == ["device-5", "device-4"])
      let rest = try await list(
        [("progress", "stuck"), ("limit", "2"), ("after", try #require(first.next))], on: server)
      #expect(rest.items.map { "\($0.device)" } == ["device-3"])
      #expect(rest.next == nil)
      for query in [[("progress", "slow")], [("progress", "stuck"), ("state", "finished")]] {
        let problem = try await server.problem { _ = try await list(query, on: server) }
        #expect(problem.code == .requestMalformed)
      }
    }
  }

  @Test("a release tells in which hours devices placed it, and how near it is to pausing itself")
  func course() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish([1, 2, 3])
      for (number, pause) in [(1, 0), (2, 0), (3, 7200)] {
        server.clock.advance(by: .seconds(Int64(pause)))
        let grant = try await grant(number, on: server)
        _ = try await server.fetch(grant)
        try await place(grant, number, on: server)
      }
      let broken = try await grant(4, on: server)
      _ = try await server.fetch(broken)
      try await fail(broken, on: server)
      let path = server.path(Self.product, "1.0")
      let course: ReleaseCourse = try await server.operatorAPI.get("\(path)/course")
      #expect(course.hours.map(\.devices) == [2, 1])
      #expect(course.hours.allSatisfy { $0.start.millisecondsSinceEpoch % 3_600_000 == 0 })
      #expect(course.isComplete)
      #expect(course.failed == 1 && course.verified == 3)
      #expect(course.pausesAbove == 2 && course.pausesFrom == 50)
      let unknown = try await server.problem {
        _ = try await server.operatorAPI.exchange("GET", "\(server.path(Self.product, "9"))/course")
      }
      #expect(unknown.code == .versionUnknown)
    }
  }

  @Test("a stuck delivery is found on the page of deliveries, by a link from its reason")
  func page() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish([1, 2, 3])
      let grant = try await grant(1, on: server)
      let name = try server.shortName(of: grant)
      server.clock.advance(by: .seconds(600))
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let page = try await browser.get("/console/deliveries")
      #expect(page.text.contains("/console/deliveries?progress=stuck"))
      #expect(page.text.contains("stuck: no byte for 10 minutes"))
      let stuck = try await browser.get("/console/deliveries?progress=stuck")
      #expect(stuck.text.contains("/console/deliveries/\(name)"))
      let waiting = try await browser.get("/console/deliveries?progress=waiting")
      #expect(waiting.status == 200 && !waiting.text.contains("/console/deliveries/\(name)"))
    }
  }

  @Test("the page of a release raises its share, and goes back to the version that was there before")
  func release() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish([1, 2, 3])
      try await server.approve([4, 5, 6], "2.0")
      try await server.release("2.0", to: 10)
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let path = "/console/products/\(Self.product)/2.0/release"
      /// Sends the form that leads there, with its hidden fields.
      func send(_ action: String, _ fields: [(String, String)]) async throws -> ConsoleBrowser.Answer {
        let page = try await browser.get(path).text
        let form = try #require(page.range(of: "action=\"\(action)\""))
        let rest = String(page[form.upperBound...])
        let hidden = try ["token", "once", "tag"].map { name in
          (name, try #require(browser.hidden(name, of: rest)).replacing("&quot;", with: "\""))
        }
        return try await browser.post(action, hidden + [("page", "release")] + fields)
      }
      let page = try await browser.get(path)
      #expect(page.status == 200)
      #expect(page.text.contains("of more than 2\u{A0}% of the purchases"))
      #expect(page.text.contains("value=\"20\""))
      // An empty share is none, and not that of all.
      for share in ["", "many"] { #expect(try await send(path, [("percentage", share)]).status == 400) }
      #expect(try await send(path, [("percentage", "20")]).location == "\(path)?notice=released")
      var record: VersionRecord = try await server.operatorAPI.get(server.path(Self.product, "2.0"))
      #expect(record.percentage == 20)

      // From a rollout, and from a release to all.
      let back = "/console/products/\(Self.product)/1.0/release"
      for share in ["20", "100"] {
        if share == "100" { try await server.release("2.0") }
        #expect(try await send(back, [("percentage", "100")]).location == "\(back)?notice=released")
        record = try await server.operatorAPI.get(server.path(Self.product, "2.0"))
        #expect(record.state == .superseded)
        record = try await server.operatorAPI.get(server.path(Self.product, "1.0"))
        #expect(record.state == .released && record.percentage == 100)
      }
    }
  }
}

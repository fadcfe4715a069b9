import Commerce
import CoreTypes
import Database
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryRecords
@testable import DeliveryService

/// These need a database that several servers can share: `PULLBOX_TEST_DATABASE` with a URL.
@Suite(
  "What one node writes, and the other one does", .enabled(if: TestDatabase.isOnServer),
  .timeLimit(.minutes(2)))
struct TwoNodesTests {
  private let large = [UInt8](repeating: 7, count: 24 << 20)
  private let small = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 2) }

  private func step(_ step: String, _ grant: GrantResponse, at node: ServerHarness) async throws {
    _ = try await node.operatorAPI.call(
      "POST", "/v1/operator/grants/\(node.shortName(of: grant))/\(step)", body: ReasonBody(reason: "refund"),
      as: OperatorGrant.self)
  }

  @Test("a ticket of one opens the package at the other, which knows what was released meanwhile")
  func tickets() async throws {
    try await ServerHarness.runNodes { first, second in
      try await first.publish(small)
      let grant = try await first.grantForPurchase()
      #expect(try await second.fetch(grant).body == small)
      try await second.publish(small, as: "com.example.issue2")
      let receipt = try first.store.receipt(
        of: [first.purchase(of: "com.example.issue2", id: "2000000000000002")], device: first.device.id)
      let other = try await first.grant("com.example.issue2", receipt: receipt).value
      #expect(try await first.fetch(other).body == small)
    }
  }

  @Test("a revocation at one ends the bodies at the other, and a reinstatement lets the ticket open again")
  func revocations() async throws {
    try await ServerHarness.runNodes { first, second in
      try await first.publish(large)
      let grant = try await first.grantForPurchase()
      let reader = try await second.slowReader(of: grant)
      try await step("revoke", grant, at: first)
      // Not read before: what is sent faster than the word arrives ends by itself.
      try await eventually {
        try await second.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 403
      }
      #expect(try await rest(of: reader) < large.count)
      try await step("reinstate", grant, at: second)
      for node in [first, second] {
        try await eventually { try await node.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 206 }
      }
    }
  }

  /// How many bytes come until a body ends.
  private func rest(of reader: RawConnection) async throws -> Int {
    var count = 0
    while let bytes = try? await reader.receive(), !bytes.isEmpty { count += bytes.count }
    return count
  }

  private func eventually(_ condition: () async throws -> Bool) async throws {
    while try await !condition() { await Task.yield() }
  }

  @Test("of revocations and reinstatements by both at once, all nodes keep what the database has in the end")
  func agreement() async throws {
    try await ServerHarness.runNodes { first, second in
      try await first.publish(small)
      let grant = try await first.grantForPurchase()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for node in [first, second] {
          group.addTask {
            for _ in 0..<10 {
              try await self.step("revoke", grant, at: node)
              try await self.step("reinstate", grant, at: node)
            }
          }
        }
        try await group.waitForAll()
      }
      let state = try await first.status(grant).state
      #expect(state == .granted)
      for node in [first, second] {
        try await eventually { try await node.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 206 }
      }
    }
  }

  @Test("a version that is withdrawn at one is refused at the other, with bodies that run")
  func withdrawals() async throws {
    try await ServerHarness.runNodes { first, second in
      try await first.publish(large)
      let grant = try await first.grantForPurchase()
      let reader = try await second.slowReader(of: grant)
      _ = try await first.operatorAPI.call(
        "POST", "/v1/operator/products/com.example.issue1/versions/1.0/withdraw",
        body: WithdrawalRequest(reason: "wrong", stopDownloads: true), as: VersionRecord.self)
      try await eventually {
        try await second.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 410
      }
      #expect(try await rest(of: reader) < large.count)
    }
  }

  @Test("a release with a date comes at its time, at whatever node it was set", .timeLimit(.minutes(1)))
  func schedules() async throws {
    try await ServerHarness.runNodes { first, second in
      // One of the two makes all releases, and looks for dates by itself once a minute.
      for (number, node) in [first, second, first, second].enumerated() {
        let product = "com.example.issue\(number)"
        _ = try await node.operatorAPI.call(
          "PUT", "/v1/operator/products/\(product)", body: ProductDescription(), as: OperatorProduct.self)
        _ = try await node.submit(small, as: product, version: "1.0")
        let path = "/v1/operator/products/\(product)/versions/1.0"
        for step in ["submit", "approve"] {
          _ = try await node.operatorAPI.call(
            "POST", "\(path)/\(step)", body: ReasonBody(), as: VersionRecord.self)
        }
        _ = try await node.operatorAPI.call(
          "POST", "\(path)/release", body: ReleaseRequest(at: node.clock.now() + .milliseconds(100)),
          as: VersionRecord.self)
        node.clock.advance(by: .seconds(1))
        try await eventually {
          try await node.operatorAPI.get(
            "/v1/operator/products/\(product)/versions", as: Page<VersionRecord>.self
          )
          .items.first?.state == .released
        }
      }
    }
  }

  @Test("what all nodes share one of them tells monitoring, and each what is its own")
  func metrics() async throws {
    try await ServerHarness.runNodes { first, second in
      try await first.publish(small)
      _ = try await first.grantForPurchase()
      var pages: [PrometheusPage] = []
      for node in [first, second] {
        let page = try await node.client.send(ClientRequest(method: "GET", url: node.api.url("/metrics")))
        pages.append(try PrometheusPage(String(decoding: page.body, as: UTF8.self)))
      }
      func count(_ name: String) -> Int {
        pages.count { page in page.samples.keys.contains { $0.hasPrefix(name) } }
      }
      #expect(count("pullbox_grants{") == 1)
      #expect(count("pullbox_uploads") == 1)
      #expect(count("pullbox_feed_waiting") == 2)
    }
  }

  @Test("a completion counts what the other node has sent; one without any byte is refused")
  func completions() async throws {
    try await ServerHarness.runNodes { first, second in
      try await first.publish(small)
      let grant = try await first.grantForPurchase()
      let problem = try await first.problem { _ = try await first.complete(grant) }
      #expect(problem.missingStep == CompletionStep.delivery.rawValue)
      #expect(try await second.fetch(grant).body == small)
      let completed = try await first.complete(grant).value
      #expect(completed.state == .finished)
    }
  }

  @Test(
    "a completion that lacks bytes is not decided while a node has not answered, whatever its heartbeats, and excused once that is dead"
  )
  func completionBesideSilence() async throws {
    try await ServerHarness.runNodes { first, second in
      try await first.publish(small)
      let grant = try await first.grantForPurchase()
      let database = second.server.components.infrastructure.database
      let number = try await database.write(locking: []) { connection in
        let now = try SQLDialect.serverTime(in: connection)
        let number = try NodeTable.take(
          "third", for: "third 1", at: "", running: "1", after: nil, at: now, in: connection)
        _ = try ServerRunTable.begin(of: number, at: now, in: connection)
        // It says all the time that it is there.
        #expect(try NodeTable.beat("third", of: "third 1", at: now + .seconds(3600), in: connection))
        return number
      }
      #expect(try await second.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 206)
      let problem = try await first.problem { _ = try await first.complete(grant) }
      #expect(problem.code == .unavailable)
      #expect(problem.retryAfterSeconds != nil)
      // The grant was made by the servers' wall clock.
      let now = max(first.clock.now(), second.server.components.infrastructure.node.clock.now())
      try await database.write(locking: []) { connection in
        try connection.execute(
          "UPDATE nodes SET heartbeat = started - 30001 WHERE number = ?",
          [.optional(number) { .integer($0) }])
        _ = try NodeTable.declareDead(at: now, in: connection)
      }
      let completed = try await first.complete(grant).value
      #expect(completed.state == .finished)
    }
  }

  @Test("a server whose name another process has taken ends")
  func replaced() async throws {
    try await ServerHarness.runNodes(mayBeReplaced: true) { first, second in
      let database = second.server.components.infrastructure.database
      try await database.write(locking: []) { connection in
        try connection.execute("UPDATE nodes SET process = 'another' WHERE name = 'second'")
      }
      try await eventually { second.failure.current is NodeMembership.Replaced }
    }
  }

  @Test("a new ticket key is every node's before tickets are sealed with it")
  func keys() async throws {
    try await ServerHarness.runNodes { first, second in
      let place = SharedTicketKeys(
        database: first.server.components.infrastructure.database, state: first.directory.path("state"),
        log: Log(level: .error))
      let id = try await BlockingPool.shared.run { try place.rotate() }
      #expect(id == 2)
      for node in [first, second] {
        try await eventually { node.server.settings.value.keys.newest.identifier == 2 }
        #expect(node.server.settings.value.keys.sealing(at: first.clock.now()).identifier == 1)
      }
    }
  }
}

import CoreTypes
import Database
import DeliverySchema
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryRecords

@Suite("Counts of bytes sent, in memory and in the database", .timeLimit(.minutes(1)))
struct DeliveryRecorderTests {
  @Test(
    "a question about a grant, a list and a page of metrics write nothing, and have what was sent a moment ago"
  )
  func questions() async throws {
    let directory = try TemporaryDirectory()
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(in: directory, timer: timer) { harness in
      try await harness.publish([UInt8](repeating: 7, count: 3000))
      let grant = try await harness.grantForPurchase()
      #expect(try await harness.fetch(grant).body.count == 3000)
      // With one connection that reads: each has a count of its own.
      let observer = try Database.open(
        path: directory.path("state/server.db"), migrations: Migrations.all, options: .small)
      defer { observer.close() }
      func version() async throws -> Row? { try await observer.read { try $0.first("PRAGMA data_version") } }
      let before = try await version()
      #expect(try await harness.status(grant).bytesDelivered == ByteCount(3000))
      let page = try await harness.operatorAPI.get("/v1/operator/deliveries", as: Page<OperatorGrant>.self)
      #expect(page.items.map(\.bytesDelivered) == [ByteCount(3000)])
      let metrics = try await harness.client.send(
        ClientRequest(method: "GET", url: harness.api.url("/metrics")))
      #expect(String(decoding: metrics.body, as: UTF8.self).contains("pullbox_delivered_bytes_total 3000\n"))
      #expect(try await version() == before)
    }
  }
}

import Commerce
import CoreTypes
import Database
import DeliveryModel
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

/// docs/catalogue-feeds.md, "Readers' keys"; docs/publishing.md, "Lists".
@Suite("What operators see of deliveries to applications for reading", .timeLimit(.minutes(2)))
struct ReaderDeliveryTests {
  private static let file = "/opds/files/\(ReaderShop.issue)/1.0/\(ReaderShop.issue).cbz"
  private static let content = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7 / 3) }

  private func list(
    _ query: [(String, String)] = [], on server: ServerHarness
  ) async throws -> [OperatorGrant] {
    let page: PullboxAPI.Page<OperatorGrant> = try await server.operatorAPI.get(
      "/v1/operator/deliveries", query: query)
    return page.items
  }

  private func failures(on server: ServerHarness) async throws -> DeliveryFailures {
    try await server.operatorAPI.get("/v1/operator/deliveries/failures")
  }

  @Test("what a reader's key has fetched is neither stuck after ten minutes nor failed after a refund")
  func expectations() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let server = shop.server
      let key = try await shop.add()
      #expect(try await shop.send(Self.file, as: key).status == 200)
      server.clock.advance(by: .seconds(601))
      let delivery = try #require(try await list(on: server).first)
      #expect(delivery.state == .reading && delivery.progress == nil)
      for progress in DeliveryProgress.allCases {
        #expect(try await list([("progress", progress.rawValue)], on: server).isEmpty)
      }
      #expect(try await list([("state", "reading")], on: server).count == 1)
      #expect(try await list([("state", "granted")], on: server).isEmpty)
      var sums = try await failures(on: server)
      #expect(sums.waiting == 0 && sums.fetching == 0 && sums.failures.isEmpty)

      try await shop.refund()
      #expect(try await shop.send(Self.file, as: key).status == 402)
      #expect(try await list(on: server).map(\.state) == [.revoked])
      sums = try await failures(on: server)
      #expect(sums.failures.isEmpty)

      let counts = try await server.server.grants.grantStore.database.read {
        try CounterTable.grants(in: $0).filter { $0.count > 0 }
      }
      #expect(counts.map(\.state) == ["revoked"])
    }
  }

  @Test("a device that calls itself as a reader's key does is expected to place what it was granted")
  func deviceOfThatName() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let server = shop.server
      let key = try await shop.add()
      let device = Device(id: try #require(DeviceIdentifier("reader-\(key.name)")))
      let bought = server.purchase(id: "2000000000000009")
      let receipt = try server.store.receipt(of: [bought], device: device.id)
      let grant = try await server.grant(receipt: receipt, device: device).value
      server.clock.advance(by: .seconds(601))
      let name = try server.shortName(of: grant)
      let stuck = try await list([("progress", "stuck")], on: server)
      #expect(stuck.map { "\($0.grant)" } == [name])
    }
  }
}

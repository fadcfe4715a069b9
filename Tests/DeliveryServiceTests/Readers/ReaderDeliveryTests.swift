import Commerce
import CoreTypes
import Database
import DeliveryModel
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService
@testable import PaymentStores

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

  private func explanation(_ query: [(String, String)] = [], on server: ServerHarness) async throws
    -> ExplanationResponse
  {
    try await server.operatorAPI.get(
      "/v1/operator/explain",
      query: [("product", ReaderShop.issue), ("transaction", "2000000000000001")] + query)
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

  @Test("revoking all grants of a transaction, or of a key's device, ends what a reader's key has")
  func revokedWithAll() async throws {
    for byDevice in [false, true] {
      try await ReaderShop.run(Self.content) { shop in
        let server = shop.server
        let key = try await shop.add()
        #expect(try await shop.send(Self.file, as: key).status == 200)
        let device = try #require(try await list(on: server).first?.device)
        let query = byDevice ? ("device", device.description) : ("transaction", "2000000000000001")
        let plan: RevocationPlan = try await server.operatorAPI.get(
          "/v1/operator/revocations", query: [query])
        #expect(plan.grants == 1 && plan.devices == 1)
        let revocation = RevocationRequest(
          transaction: byDevice ? nil : "2000000000000001",
          device: byDevice ? device.description : nil, reason: "fraud")
        let done = try await server.operatorAPI.call(
          "POST", "/v1/operator/revocations", body: revocation, as: RevocationReport.self)
        #expect(done.value.revoked == 1)
        #expect([402, 403].contains(try await shop.send(Self.file, as: key).status))
      }
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

  @Test(
    "to a store that decides on a refund the share is told that a reader's key was sent, also once it is revoked, and never that all is delivered: the same part may have been sent again"
  )
  func consumption() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let server = shop.server
      let key = try await shop.add()
      let transaction = TransactionKey(
        store: .sandbox, environment: .sandbox, id: try #require(TransactionIdentifier("2000000000000001")))
      func tell(_ sent: Int) async throws {
        let database = server.server.grants.grantStore.database
        let grant = try #require(
          try await database.read { connection in
            try GrantTable.all(paidBy: transaction, in: connection).first
          })
        var bytes = ByteCount.zero
        // The loop counts what the kernel took, which the client may have read before.
        while bytes < ByteCount(sent) {
          try await server.server.recorder.record()
          bytes = try await database.read { try DeliveredBytesTable.bytes(of: grant.number, in: $0) }
        }
        let now = server.clock.now()
        try await database.write(locking: [.everything]) {
          try ConsentTable.set(true, for: grant.number, at: now, in: $0)
        }
        let isTold = try await server.server.grants.answerConsumptionRequest(
          about: transaction, until: now + .seconds(60))
        #expect(isTold)
        let payload = try await database.read {
          try $0.first("SELECT payload FROM outbox WHERE kind = 'consumption'")?.text("payload")
        }
        let statement = try APIJSON.decode(
          ConsumptionStatement.self, from: Array(try #require(payload).utf8))
        #expect(statement.share == sent * ConsumptionStatement.whole / Self.content.count)
        #expect(!statement.isDelivered)
      }
      let part = try await shop.send("GET", Self.file, as: key, headers: [("Range", "bytes=0-999")])
      #expect(part.status == 206)
      try await tell(1000)
      for _ in 1...4 {
        let again = try await shop.send("GET", Self.file, as: key, headers: [("Range", "bytes=0-999")])
        #expect(again.status == 206)
      }
      try await tell(5000)
      try await shop.refund()
      try await tell(5000)
    }
  }

  @Test(
    "an explanation tells what was sent to which reader's key, how much and when, also once it is removed")
  func explained() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let server = shop.server
      let start = server.clock.now()
      let (one, other) = (try await shop.add("Tablet"), try await shop.add("Shelf"))
      #expect(try await explanation(on: server).readers?.isEmpty == true)
      #expect(try await shop.send(Self.file, as: one).status == 200)
      server.clock.advance(by: .seconds(60))
      let answer = try await shop.send("GET", Self.file, as: other, headers: [("Range", "bytes=0-999")])
      #expect(answer.status == 206)
      var found = try #require(try await explanation(on: server).readers)
      while found.map(\.bytesDelivered) != [ByteCount(1000), ByteCount(5000)] {
        // The loop counts what the kernel took, which the client may have read before.
        try await server.server.recorder.record()
        found = try #require(try await explanation(on: server).readers)
      }
      try await server.server.recorder.record()
      found = try #require(try await explanation(on: server).readers)
      #expect(found.map(\.bytesDelivered) == [ByteCount(1000), ByteCount(5000)])
      #expect(found.map(\.title) == ["Shelf", "Tablet"])
      #expect(found.map(\.name) == [other.name, one.name])
      #expect(found.map(\.created) == [start + .seconds(60), start])
      #expect(found.allSatisfy { $0.lastSent == server.clock.now() || $0.lastSent == start })
      #expect(found.map(\.version.description) == ["1.0", "1.0"])
      let before = try await explanation([("at", "\(start)")], on: server)
      #expect(before.readers?.map(\.name) == [one.name])

      try await shop.remove(other)
      found = try #require(try await explanation(on: server).readers)
      #expect(found.map(\.title) == [nil, "Tablet"])
      #expect(found.first?.device == DeviceIdentifier("reader-\(other.name)"))
    }
  }
}

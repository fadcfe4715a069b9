import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Synchronization
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Grants of several products", .timeLimit(.minutes(2)))
struct GrantBatchTests {
  private func products(_ count: Int) -> [String] { (0..<count).map { "com.example.issue\($0)" } }

  /// Released versions as if they had been published; their packages are not there.
  private func release(_ names: [String], in server: ServerHarness) async throws {
    let now = server.clock.now()
    let version = try #require(ContentVersion("1.0"))
    let ids = try names.map { try #require(ProductIdentifier($0)) }
    try await server.server.grants.grantStore.database.write(locking: [.everything]) { connection in
      for id in ids {
        try ProductTable.put(Product(id: id, type: .nonConsumable), at: now, in: connection)
        var record = VersionRecord(
          product: id, version: version, state: .released, length: ByteCount(1),
          digest: .of(Array(id.description.utf8)), manifestDigest: .of([1]), pieces: 1, files: 1,
          created: now, released: now)
        record.percentage = 100
        try VersionTable.insert(record, manifest: [1], cover: nil, title: nil, in: connection)
        try VersionTable.update(record, in: connection)
      }
    }
  }

  private func grants(
    _ names: [String], _ receipt: String, in server: ServerHarness
  ) async throws -> APIResponse<GrantBatchResponse> {
    let request = GrantBatchRequest(
      proof: Proof(receipt: receipt), products: try names.map { try #require(ProductIdentifier($0)) },
      device: Device(id: server.device.id, publicKey: SigningKey().verificationKey))
    return try await server.api.call("POST", "/v1/grants", body: request, as: GrantBatchResponse.self)
  }

  private func commits(in server: ServerHarness) throws -> Int {
    try WriteAheadLog(of: server.directory.path("state/server.db")).commits
  }

  private func questions(_ server: ServerHarness) -> Int { server.store.state.withLock { $0.questions } }

  @Test(
    "two hundred products of one receipt take one question and one write, and the same again neither",
    .enabled(if: !TestDatabase.isOnServer))
  func restore() async throws {
    try await ServerHarness.run(options: ["--scrub-interval", "0"]) { server in
      let names = products(200)
      try await release(names, in: server)
      let purchases = names.enumerated().map { server.purchase(of: $1, id: "\(1000 + $0)") }
      let receipt = try server.store.receipt(of: purchases, device: server.device.id)
      let before = try commits(in: server)
      let device = Device(id: server.device.id, publicKey: SigningKey().verificationKey)
      let request = GrantBatchRequest(
        proof: Proof(receipt: receipt), products: try names.map { try #require(ProductIdentifier($0)) },
        device: device)
      let first = try await server.api.call(
        "POST", "/v1/grants", body: request, as: GrantBatchResponse.self)
      #expect(first.status == 201)
      #expect(first.value.problems.isEmpty)
      #expect(first.value.grants.map(\.download.product) == request.products)
      #expect(questions(server) == 1)
      #expect(try commits(in: server) == before + 1)
      let again = try await server.api.call(
        "POST", "/v1/grants", body: request, as: GrantBatchResponse.self)
      #expect(again.status == 200)
      #expect(again.value.grants.map(\.grant) == first.value.grants.map(\.grant))
      #expect(questions(server) == 1)
      #expect(try commits(in: server) == before + 1)
    }
  }

  @Test(
    "a grant that is there already is answered without a write; a device's new key is written",
    .enabled(if: !TestDatabase.isOnServer))
  func repeated() async throws {
    try await ServerHarness.run(options: ["--scrub-interval", "0"]) { server in
      try await release(products(1), in: server)
      let receipt = try server.store.receipt(
        of: [server.purchase(of: "com.example.issue0")], device: server.device.id)
      func ask(_ device: Device) async throws -> APIResponse<GrantResponse> {
        try await server.grant("com.example.issue0", receipt: receipt, device: device)
      }
      let device = Device(id: server.device.id, publicKey: SigningKey().verificationKey)
      let first = try await ask(device)
      let before = try commits(in: server)
      for _ in 0..<3 { #expect(try await ask(device).value.grant == first.value.grant) }
      #expect(try commits(in: server) == before)
      let other = Device(id: server.device.id, publicKey: SigningKey().verificationKey)
      #expect(try await ask(other).value.grant == first.value.grant)
      #expect(try commits(in: server) == before + 1)
    }
  }

  @Test("what cannot be granted is in the answer, each product by itself, beside what can")
  func mixed() async throws {
    try await ServerHarness.run(options: ["--scrub-interval", "0"]) { server in
      try await release(products(3), in: server)
      let receipt = try server.store.receipt(
        of: [
          server.purchase(of: "com.example.issue0"),
          server.purchase(of: "com.example.issue2", id: "3", cancelled: server.clock.now()),
        ], device: server.device.id)
      let asked = ["com.example.issue2", "com.example.none", "com.example.issue0", "com.example.issue1"]
      let answer = try await grants(asked, receipt, in: server)
      #expect(answer.status == 201)
      #expect(answer.value.grants.map(\.download.product.description) == ["com.example.issue0"])
      #expect(answer.value.problems.map(\.product.description) == asked.filter { $0 != "com.example.issue0" })
      #expect(
        answer.value.problems.map(\.problem.code) == [
          .entitlementRevoked, .productUnknown, .purchaseRequired,
        ])
    }
  }

  @Test("the store is not asked where no product could be granted, whatever was bought")
  func unknownProducts() async throws {
    try await ServerHarness.run(options: ["--scrub-interval", "0"]) { server in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let answer = try await grants(["com.example.a", "com.example.b"], receipt, in: server)
      #expect(answer.status == 200)
      #expect(answer.value.problems.map(\.problem.code) == [.productUnknown, .productUnknown])
      #expect(questions(server) == 0)
    }
  }

  @Test("what is wrong with the receipt is one refusal of the whole")
  func foreignReceipt() async throws {
    try await ServerHarness.run(options: ["--scrub-interval", "0"]) { server in
      try await release(products(2), in: server)
      let receipt = try server.store.receipt(
        of: [server.purchase()], device: try #require(DeviceIdentifier("another-device")))
      let problem = try await server.problem { _ = try await grants(products(2), receipt, in: server) }
      #expect(problem.code == .receiptNotAuthentic)
    }
  }

  @Test(
    "a body names one product or 1 to 200 different ones, and nothing that is about one beside several",
    arguments: [
      #""product":"a","products":["a"]"#, #""products":[]"#, #""products":["a","a"]"#,
      #""products":["a"],"version":"1""#, #""products":["a"],"transaction":"1""#, #""products":"a""#,
      #""products":null"#,
      "\"products\":[" + (0...200).map { "\"a\($0)\"" }.joined(separator: ",") + "]",
    ])
  func malformed(members: String) async throws {
    try await ServerHarness.run(options: ["--scrub-interval", "0"]) { server in
      let body = Array("{\"receipt\":\"AAAA\",\"device\":{\"id\":\"d\"},\(members)}".utf8)
      let problem = try await server.problem {
        _ = try await server.api.exchange("POST", "/v1/grants", bytes: body)
      }
      #expect(problem.code == .requestMalformed)
      #expect(problem.detail?.contains("product") == true || problem.detail?.contains("beside") == true)
    }
  }

  @Test("a refusal of one product is its problem with the product beside the members")
  func document() throws {
    let product = try #require(ProductIdentifier("com.example.issue1"))
    let refusal = GrantBatchResponse.Refusal(product: product, problem: Problem(.purchaseRequired, "no"))
    let text = String(decoding: try APIJSON.encode(refusal), as: UTF8.self)
    #expect(
      text
        == #"{"detail":"no","product":"com.example.issue1","status":402,"title":"\#(ProblemCode.purchaseRequired.title)","type":"urn:pullbox:problem:purchase-required"}"#
    )
    let read = try APIJSON.decode(GrantBatchResponse.Refusal.self, from: Array(text.utf8))
    #expect(read.product == product)
    #expect(read.problem == refusal.problem)
  }
}

import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Synchronization
import Testing

@testable import DeliveryService

@Suite("Proofs of several stores in one request", .timeLimit(.minutes(2)))
struct ProofListTests {
  private static let first = "com.example.issue1"
  private static let second = "com.example.issue2"

  /// A server with two products, and two stores.
  private func run(
    _ options: [String] = [], _ body: (ServerHarness, FakeAppleStore) async throws -> Void
  ) async throws {
    let apple = try FakeAppleStore()
    try await ServerHarness.run(options: apple.option() + options) { server in
      try await server.publish([1, 2, 3], as: Self.first)
      try await server.publish([4, 5, 6], as: Self.second)
      try await body(server, apple)
    }
    await apple.stop()
  }

  /// The receipt for the first product. The other store gives its transaction the same number.
  private func receipt(_ server: ServerHarness, _ device: Device? = nil) throws -> Proof {
    let device = device ?? server.device
    return Proof(
      store: "sandbox",
      receipt: try server.store.receipt(of: [server.purchase(of: Self.first)], device: device.id))
  }

  private func signed(_ apple: FakeAppleStore, account: String? = nil) throws -> Proof {
    var transaction = apple.transaction(product: Self.second)
    transaction.appAccountToken = account
    return Proof(store: "apple", signedTransaction: try apple.sign(transaction))
  }

  private func owned(
    by proofs: [Proof], _ device: Device? = nil, of server: ServerHarness
  ) async throws -> EntitlementsResponse {
    var request = EntitlementsRequest(proof: Proof(), device: device ?? server.device)
    request.proofs = try #require(ProofList(proofs))
    return try await server.api.call("POST", "/v1/entitlements", body: request).value
  }

  private func grant(
    _ product: String, by proofs: [Proof], _ device: Device? = nil, of server: ServerHarness
  ) async throws -> GrantResponse {
    var request = GrantRequest(
      proof: Proof(), product: try #require(ProductIdentifier(product)), device: device ?? server.device)
    request.proofs = try #require(ProofList(proofs))
    return try await server.api.call("POST", "/v1/grants", body: request).value
  }

  /// The customers to whom the transaction of that store belongs by the ledger.
  private func customers(of store: String, _ server: ServerHarness) async throws -> [String] {
    try await customers(of: "2000000000000001", at: store, server)
  }

  private func customers(of transaction: String, at store: String, _ server: ServerHarness) async throws
    -> [String]
  {
    let query = [("product", Self.first), ("transaction", transaction), ("store", store)]
    return try await server.operatorAPI.get(
      "/v1/operator/explain", query: query, as: ExplanationResponse.self
    ).customers
  }

  @Test("what they own is one answer, with a feed of each store, and their purchases are one customer's")
  func merged() async throws {
    try await run { server, apple in
      let proofs = [try receipt(server), try signed(apple)]
      let answer = try await owned(by: proofs, of: server)
      #expect(answer.products.map(\.product.description) == [Self.first, Self.second])
      #expect(answer.products.map(\.store) == ["sandbox", "apple"])
      #expect(answer.products.map(\.transaction.description) == ["2000000000000001", "2000000000000001"])
      #expect(answer.problems == nil)
      #expect(answer.feeds?.keys.sorted() == ["apple", "sandbox"])
      #expect(answer.feed?.token == answer.feeds?["sandbox"]?.token)
      #expect(try await customers(of: "sandbox", server) == customers(of: "apple", server))
    }
  }

  @Test("shown one by one they are two customers'")
  func apart() async throws {
    try await run { server, apple in
      for proof in [try receipt(server), try signed(apple)] {
        _ = try await owned(by: [proof], of: server)
      }
      #expect(try await customers(of: "sandbox", server) != customers(of: "apple", server))
      // A proof alone opens what its own store sold, and together they are joined later as well.
      _ = try await owned(by: [try receipt(server), try signed(apple)], of: server)
      #expect(try await customers(of: "sandbox", server) == customers(of: "apple", server))
      let alone = try await owned(by: [try receipt(server)], of: server)
      #expect(alone.products.map(\.product.description) == [Self.first])
    }
  }

  @Test("purchases for two application accounts stay two customers'")
  func accounts() async throws {
    try await run { server, apple in
      var transaction = apple.transaction("7", product: Self.first)
      transaction.appAccountToken = "ben"
      let other = Proof(store: "apple", signedTransaction: try apple.sign(transaction))
      _ = try await owned(
        by: [try receipt(server), try signed(apple, account: "ada"), other], of: server)
      let query = [("product", Self.first), ("transaction", "7"), ("store", "apple")]
      let ben = try await server.operatorAPI.get(
        "/v1/operator/explain", query: query, as: ExplanationResponse.self
      ).customers
      #expect(try await ben != customers(of: "apple", server))
    }
  }

  @Test("who shows another's proof beside a purchase of their own at the other store is joined with nothing")
  func anothersProof() async throws {
    try await run { server, apple in
      let leaked = try receipt(server)
      let own = Proof(
        store: "apple", signedTransaction: try apple.sign(apple.transaction("7", product: Self.first)))
      _ = try await owned(by: [leaked, try signed(apple)], of: server)
      _ = try await owned(by: [leaked, own], of: server)
      let victim = try await customers(of: "apple", server)
      #expect(try await customers(of: "sandbox", server) == victim)
      #expect(try await customers(of: "7", at: "apple", server) != victim)
      let alone = try await owned(by: [own], of: server)
      #expect(alone.products.map(\.product.description) == [Self.first])
    }
  }

  @Test(
    "of two who show one proof at the same moment, each with another purchase, one is joined with it at most")
  func sameMoment() async throws {
    try await run { server, apple in
      let shared = try receipt(server)
      let own = Proof(
        store: "apple", signedTransaction: try apple.sign(apple.transaction("7", product: Self.first)))
      let other = try signed(apple)
      async let one = owned(by: [shared, other], of: server)
      async let two = owned(by: [shared, own], of: server)
      _ = try await (one, two)
      let customer = try await customers(of: "apple", server)
      #expect(try await customers(of: "7", at: "apple", server) != customer)
    }
  }

  @Test("two purchases of one store that nothing else joins stay two customers' beside one of another store")
  func twoOfOneStore() async throws {
    try await run { server, apple in
      let other = Proof(
        store: "apple", signedTransaction: try apple.sign(apple.transaction("7", product: Self.first)))
      let answer = try await owned(by: [try signed(apple), other, try receipt(server)], of: server)
      #expect(answer.problems == nil)
      let customer = try await customers(of: "apple", server)
      #expect(try await customers(of: "7", at: "apple", server) != customer)
      #expect(try await customers(of: "sandbox", server) != customer)
    }
  }

  @Test("each product is granted by the proof that pays for it, and finished at that store")
  func grants() async throws {
    try await run { server, apple in
      let proofs = [try receipt(server), try signed(apple)]
      var request = GrantBatchRequest(
        proof: Proof(),
        products: [
          try #require(ProductIdentifier(Self.first)), try #require(ProductIdentifier(Self.second)),
        ], device: server.device)
      request.proofs = try #require(ProofList(proofs))
      let answer: GrantBatchResponse = try await server.api.call("POST", "/v1/grants", body: request).value
      #expect(answer.problems.isEmpty)
      var stores: [String] = []
      for grant in answer.grants { stores.append(try await server.status(grant).store) }
      #expect(stores == ["sandbox", "apple"])
      // The same again: the same grants.
      let again = try await grant(Self.second, by: proofs, of: server)
      #expect(again.grant == answer.grants.last?.grant)
    }
  }

  @Test("a proof that is good for nothing takes none of the others along, and is named by its place")
  func oneIsNoGood() async throws {
    try await run { server, apple in
      let broken = Proof(store: "sandbox", receipt: "AAAA")
      let answer = try await owned(by: [broken, try signed(apple)], of: server)
      #expect(answer.products.map(\.product.description) == [Self.second])
      #expect(answer.problems?.map(\.proof) == [0])
      #expect(answer.problems?.first?.problem.code == .receiptMalformed)
      let refused = try await server.problem {
        _ = try await owned(by: [broken, Proof(store: "nowhere", receipt: "AAAA")], of: server)
      }
      #expect(refused.code == .receiptMalformed)
    }
  }

  @Test(
    "while one store is away the other's purchases are restored, and what the first may pay for is undetermined"
  )
  func oneIsAway() async throws {
    try await run { server, apple in
      server.store.state.withLock { $0.isDown = true }
      let proofs = [try receipt(server), try signed(apple)]
      let answer = try await owned(by: proofs, of: server)
      #expect(answer.products.map(\.product.description) == [Self.second])
      #expect(answer.problems?.first?.problem.code == .verificationUndetermined)
      _ = try await grant(Self.second, by: proofs, of: server)
      let refused = try await server.problem { _ = try await grant(Self.first, by: proofs, of: server) }
      #expect(refused.code == .verificationUndetermined)
    }
  }

  @Test("the devices of all of them count together")
  func devices() async throws {
    try await run(["--store-device-limit", "1"]) { server, apple in
      let other = Device(id: try #require(DeviceIdentifier("device-2")))
      _ = try await grant(Self.second, by: [try receipt(server), try signed(apple)], of: server)
      let refused = try await server.problem {
        let proofs = [try receipt(server, other), try signed(apple)]
        _ = try await grant(Self.first, by: proofs, other, of: server)
      }
      #expect(refused.code == .deviceLimit)
    }
  }

  @Test("none, nine, and one beside proofs are refused as malformed")
  func counts() async throws {
    try await run { server, _ in
      let device = #""device":{"id":"reader-1"}"#
      let nine = Array(repeating: "{}", count: 9).joined(separator: ",")
      for members in [#""proofs":[]"#, #""proofs":[\#(nine)]"#, #""proofs":[{}],"store":"sandbox""#] {
        let refused = try await server.problem {
          _ = try await server.api.exchange(
            "POST", "/v1/entitlements", bytes: Array("{\(device),\(members)}".utf8),
            mediaType: "application/json")
        }
        #expect(refused.code == .requestMalformed)
      }
    }
  }
}

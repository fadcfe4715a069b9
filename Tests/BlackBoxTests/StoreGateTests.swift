import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// The server's questions to its stores, counted at the stores.
@Suite("The server and its stores, from outside", .serialized, .timeLimit(.minutes(5)))
struct StoreGateTests {
  private static let product = "com.example.issue1"
  private static let device = "device-of-the-reader"
  private static let question = "/verifyReceipt"

  private func publish(
    _ product: String = product, type: ProductType? = nil, in stack: Stack
  ) async throws {
    let file = try await Material.file("\(product).cbz", length: 50_000, in: stack.directory)
    let price = try #require(Price(amount: "2.99", currency: "USD"))
    try await stack.describe(product, ProductDescription(type: type, prices: ["USA": price]))
    try await stack.release(file, as: product)
  }

  @Test(
    "a sandbox receipt costs one question to production and one to the sandbox, and counts where that is allowed",
    arguments: [false, true])
  func environments(allowsSandbox: Bool) async throws {
    try await Stack.with(Stack.Options(parts: [.store])) { stack in
      let daemon = try await Daemon.start(
        "pullbox-sandbox",
        [
          "--listen", "127.0.0.1:0", "--state", stack.directory.path("production"), "--catalog",
          stack.serverProxy.url, "--environment", "production", "--app-apple-id", "1234567890",
        ], name: "production", in: stack.directory)
      let production = Web(
        base: "http://127.0.0.1:\(try #require(daemon.port))", client: stack.client)
      let entry = """
        {name: 'apple', kind: 'apple', bundles: ['\(Stack.bundle)'], allowSandbox: \(allowsSandbox),
         addresses: {production: '\(production.base)', sandbox: '\(stack.storeProxy.url)'}}
        """
      try await stack.start(.server, arguments: ["--payment-store", entry])
      try await publish(in: stack)
      _ = try await stack.buy(Self.product, device: Self.device)
      let proof = Proof(store: "apple", receipt: try await stack.receipt(device: Self.device))
      let answer = try await stack.server.post(
        "/v1/grants",
        GrantRequest(
          proof: proof, product: try #require(ProductIdentifier(Self.product)),
          device: Device(id: try #require(DeviceIdentifier(Self.device)))))
      #expect(try await Stack.requests(to: Self.question, of: production) == 1)
      #expect(try await Stack.requests(to: Self.question, of: stack.store()) == 1)
      let grants = try await stack.deliveries(of: Self.product)
      if allowsSandbox {
        #expect(answer.status == 201, "\(answer.text)")
        #expect(grants.map(\.environment) == ["Sandbox"])
      } else {
        #expect(answer.problem?.code == .receiptWrongEnvironment, "\(answer.text)")
        #expect(grants.isEmpty)
      }
      await daemon.process.killAndWait()
    }
  }

  @Test(
    "a thousand grants of one proof at once are one question and one grant; those turned away are told when to come again"
  )
  func oneQuestion() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      try await publish(in: stack)
      _ = try await stack.buy(Self.product, device: Self.device)
      let request = GrantRequest(
        proof: Proof(receipt: try await stack.receipt(device: Self.device)),
        product: try #require(ProductIdentifier(Self.product)),
        device: Device(
          id: try #require(DeviceIdentifier(Self.device)), publicKey: SigningKey().verificationKey))
      // Long enough for all to ask before the store has answered.
      let faults = try await stack.store().send(
        "PUT", "/sandbox/v1/faults", headers: [("Content-Type", "application/json")],
        body: Array(#"{"latency":2000}"#.utf8))
      #expect(faults.status == 200, "\(faults.text)")
      let answers = try await withThrowingTaskGroup { group in
        for _ in 1...1000 { group.addTask { try await stack.server.post("/v1/grants", request) } }
        return try await group.reduce(into: [Answer]()) { $0.append($1) }
      }
      let (granted, refused) = (
        answers.filter { [200, 201].contains($0.status) }, answers.filter { ![200, 201].contains($0.status) }
      )
      for answer in refused {
        #expect([429, 503].contains(answer.status), "\(answer.text)")
        #expect(answer.headers["Retry-After"].flatMap { Int($0) } ?? 0 > 0, "\(answer.text)")
      }
      #expect(answers.count { $0.status == 201 } == 1)
      #expect(Set(try granted.map { try $0.decoded(GrantResponse.self).grant }).count == 1)
      #expect(try await Stack.requests(to: Self.question, of: stack.store()) == 1)
    }
  }

  @Test(
    "pullbox stores says what is known of a store and since when: unknown, answered, failed, does not answer")
  func command() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      func table() async throws -> String { try await stack.pullbox("stores").output }
      func status() async throws -> StoreStatus {
        let printed = try await stack.pullbox("stores", "--json")
        #expect(printed.succeeded, "\(printed.errors)")
        return try APIJSON.decode(StoreStatus.self, from: Array(printed.output.utf8))
      }
      try await publish(in: stack)
      let first = try await table()
      #expect(
        first.contains("LAST ANSWER") && first.contains("sandbox") && first.contains("unknown"), "\(first)")
      #expect(try await status().lastAnswer == nil)

      _ = try await stack.buy(Self.product, device: Self.device)
      let receipt = try await stack.receipt(device: Self.device)
      let granted = try await stack.askForGrant(of: Self.product, receipt: receipt, device: Self.device)
      #expect(granted.status == 201, "\(granted.text)")
      #expect(try await table().contains(" answered "))
      let answered = try #require(try await status().lastAnswer)

      var others: [String: String] = [:]
      for number in 1...5 { others["new-\(number)"] = try await stack.receipt(device: "new-\(number)") }
      await stack.kill(.store)
      var words: [String] = []
      for (device, receipt) in others {
        let refused = try await stack.askForGrant(of: Self.product, receipt: receipt, device: device)
        #expect(refused.problem?.code == .verificationUndetermined, "\(refused.text)")
        let shown = try await table()
        words.append(
          shown.contains("does not answer")
            ? "does not answer" : shown.contains(" failed ") ? "failed" : shown)
      }
      #expect(words == ["failed", "failed", "failed", "failed", "does not answer"])
      let last = try await status()
      #expect(!last.isReachable && last.questionsStopped && !last.callsStopped)
      // The moment is that of the clock that counts on, so it is right to the millisecond.
      #expect(abs((try #require(last.lastAnswer) - answered).milliseconds) < 1000)
      #expect(try #require(last.lastFailure) > answered)
    }
  }

  @Test(
    "what another device of the account bought this one's agent neither delivers nor finishes; a code's purchase, which belongs to none, it does"
  )
  func otherDevices() async throws {
    let (own, gift) = ("com.example.issue2", "com.example.issue3")
    try await Stack.with { stack in
      // A non-consumable would come by the customer's feed.
      try await publish(type: .consumable, in: stack)
      for product in [own, gift] { try await publish(product, in: stack) }
      let other = try await stack.buy(Self.product, device: "another-device")
      #expect(try await stack.agent.buy(own).status == 201)
      #expect(try await stack.agent.finishedTransaction(of: own).downloads.count == 1)
      let made = try await stack.store().send(
        "POST", "/sandbox/v1/codes", headers: [("Content-Type", "application/json")],
        body: try APIJSON.encode(
          CodeRequest(product: try #require(ProductIdentifier(gift)), uses: 1)))
      let code = try made.decoded(StoreCode.self).code
      let redeemed = try await stack.store().post("/store/v1/codes/\(code)")
      #expect(redeemed.status == 201, "\(redeemed.text)")
      // Each answer of the queue that told of these had the other one in it.
      #expect(try await stack.agent.finishedTransaction(of: gift).downloads.count == 1)
      #expect(try await Set(stack.agent.transactions().map(\.product.description)) == [own, gift])
      #expect(try await Set(stack.agent.downloads().map(\.product.description)) == [own, gift])
      #expect(try await stack.unfinishedTransactions().map(\.id) == [other.id])
      #expect(try await stack.deliveries(of: Self.product).isEmpty)
    }
  }

  @Test(
    "while the store is away owners go on, new proofs wait, what was refunded stays refused; back, it is asked again"
  )
  func away() async throws {
    let (second, other) = ("com.example.issue2", "another-device")
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      try await publish(in: stack)
      try await publish(second, in: stack)
      _ = try await stack.buy(Self.product, device: Self.device)
      let owner = try await stack.receipt(device: Self.device)
      let first = try await stack.askForGrant(of: Self.product, receipt: owner, device: Self.device)
      #expect(first.status == 201, "\(first.text)")
      let refunded = try await stack.buy(second, device: other)
      let before = try await stack.receipt(device: other)
      #expect(try await stack.askForGrant(of: second, receipt: before, device: other).status == 201)
      try await stack.control("transactions/\(refunded.id)/refund")
      let after = try await stack.receipt(device: other)
      let taken = try await stack.askForGrant(of: second, receipt: after, device: other)
      #expect(taken.problem?.code == .entitlementRevoked, "\(taken.text)")
      let unknown = try await stack.receipt(device: "new-device")

      // A server that has just begun has asked nothing yet, and the store is not there to be asked.
      await stack.kill(.server)
      await stack.kill(.store)
      try await stack.start(.server)
      let again = try await stack.askForGrant(of: Self.product, receipt: owner, device: Self.device)
      #expect(again.status == 200, "\(again.text)")
      let grant = try again.decoded(GrantResponse.self)
      let content = try await stack.server.get(
        grant.download.contentURL, headers: [("Authorization", "Bearer \(grant.download.ticket)")])
      #expect(content.status == 200)
      let new = try await stack.askForGrant(of: Self.product, receipt: unknown, device: "new-device")
      #expect(new.status == 503)
      #expect(new.problem?.code == .verificationUndetermined, "\(new.text)")
      let revoked = try await stack.askForGrant(of: second, receipt: before, device: other)
      #expect(revoked.status == 403)
      #expect(revoked.problem?.code == .entitlementRevoked, "\(revoked.text)")
      #expect(try await stack.deliveries(of: Self.product).map { $0.unconfirmed != nil } == [true])

      try await stack.start(.store)
      try await eventually {
        try await stack.deliveries(of: Self.product).allSatisfy { $0.unconfirmed == nil }
      }
      #expect(try await stack.deliveries(of: Self.product).map(\.state) == [.granted])
    }
  }
}

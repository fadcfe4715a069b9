import Commerce
import CoreTypes
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// A server that takes the sandbox store for Apple's: it is told of refund requests by notifications, and answers and finishes
/// through the App Store Server API.
@Suite("What a server tells a store that decides on a refund", .serialized, .timeLimit(.minutes(5)))
struct ConsumptionTests {
  private static let device = "device-of-the-reader"

  private func start(_ stack: Stack) async throws {
    try await stack.start(
      .store,
      arguments: [
        "--api-issuer", "57246542-96fe-1a63-e053-0824d011072a", "--notification-url",
        "\(stack.serverProxy.url)/v1/notifications/apple",
      ])
    let state = stack.directory.path("store")
    let files = try FileManager.default.contentsOfDirectory(atPath: state)
    let key = try #require(files.first { $0.hasPrefix("AuthKey_") && $0.hasSuffix(".p8") })
    let url = stack.storeProxy.url
    let entry = """
      {name: 'apple', kind: 'apple', bundles: ['com.example.pullbox'], onlineChecks: false,
       addresses: {sandbox: '\(url)', api: {sandbox: '\(url)'}}, roots: ['\(state)/pki/signed-data-root.pem'],
       issuer: '57246542-96fe-1a63-e053-0824d011072a', keyId: '\(key.dropFirst(8).dropLast(3))',
       keyFile: '\(state)/\(key)', deviceLimit: 1}
      """
    try await stack.start(.server, arguments: ["--payment-store", entry])
  }

  private func publish(_ product: String, in stack: Stack) async throws {
    let file = try await Material.file("\(product).cbz", length: 50_000, in: stack.directory)
    let price = try #require(Price(amount: "2.99", currency: "USD"))
    try await stack.describe(product, ProductDescription(prices: ["USA": price]))
    try await stack.release(file, as: product)
  }

  private func ask(
    _ stack: Stack, for product: String, consent: Consent?, device: String = device
  ) async throws -> Answer {
    try await stack.server.post(
      "/v1/grants",
      GrantRequest(
        proof: Proof(store: "apple", receipt: try await stack.receipt(device: device)),
        product: try #require(ProductIdentifier(product)),
        device: Device(id: try #require(DeviceIdentifier(device))), consent: consent))
  }

  private func deliver(_ grant: GrantResponse, in stack: Stack) async throws {
    let content = try await stack.server.get(
      grant.download.contentURL, headers: [("Authorization", "Bearer \(grant.download.ticket)")])
    #expect(content.status == 200)
    let report = CompletionReport(
      digest: grant.download.digest, version: grant.download.version, length: grant.download.length,
      placedAt: SystemWallClock().now())
    let answer = try await stack.device(holding: grant).post("/v1/grants/\(grant.grant)/completion", report)
    #expect(answer.status == 200, "\(answer.text)")
  }

  private func reports(_ id: TransactionIdentifier, in stack: Stack) async throws -> [JSONValue] {
    try await stack.store().get("/sandbox/v1/transactions/\(id)/consumption")
      .decoded(ConsumptionReports.self).reports
      .map { try APIJSON.decode(JSONValue.self, from: Array($0.document.utf8)) }
  }

  @Test("a refund request is answered with what was delivered where its customer agreed, and only there")
  func refundRequests() async throws {
    try await Stack.with(Stack.Options(parts: [])) { stack in
      try await start(stack)
      var grants: [GrantResponse] = []
      for (product, consent) in [
        ("com.example.silent", nil), ("com.example.told", Consent(consumption: true)),
      ] {
        try await publish(product, in: stack)
        _ = try await stack.buy(product, device: Self.device)
        let answer = try await ask(stack, for: product, consent: consent)
        #expect(answer.status == 201, "\(answer.text)")
        grants.append(try answer.decoded())
        try await deliver(try #require(grants.last), in: stack)
      }
      // The ends of both transactions were told through the store's interface.
      #expect(try await stack.unfinishedTransactions().isEmpty)
      for grant in grants {
        let asked = try await stack.store().post(
          "/sandbox/v1/transactions/\(grant.transaction)/request-refund", ["reason": "OTHER"])
        #expect(asked.status == 200, "\(asked.text)")
      }
      let (silent, told) = (grants[0].transaction, grants[1].transaction)
      try await eventually { try await !reports(told, in: stack).isEmpty }
      let report = try #require(try await reports(told, in: stack).first)
      #expect(report["deliveryStatus"].text == "DELIVERED")
      #expect(report["consumptionPercentage"].number == 100_000)
      // The store told of the silent one first.
      #expect(try await reports(silent, in: stack).isEmpty)
      let calls = try await stack.pullbox("outbox", "--kind", "consumption", "--json")
      #expect(calls.succeeded && calls.output.contains(told.description), "\(calls.errors)")
      #expect(!calls.output.contains(silent.description))
    }
  }

  @Test("a device beyond the limit is refused, and an operator sees it")
  func devices() async throws {
    try await Stack.with(Stack.Options(parts: [])) { stack in
      try await start(stack)
      try await publish("com.example.issue", in: stack)
      _ = try await stack.buy("com.example.issue", device: Self.device)
      #expect(try await ask(stack, for: "com.example.issue", consent: nil).status == 201)
      let other = try await ask(stack, for: "com.example.issue", consent: nil, device: "another-device")
      #expect(other.problem?.code == .deviceLimit, "\(other.text)")
      #expect(try await ask(stack, for: "com.example.issue", consent: nil).status == 200)
      let shown = try await stack.pullbox("irregularities")
      #expect(shown.succeeded, "\(shown.errors)")
      #expect(shown.output.contains("many-devices") && shown.output.contains("another-device"))
    }
  }
}

import Commerce
import CoreTypes
import Crypto
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// What customers and stores show, and what operators configure, is looked for wherever a daemon writes or answers.
@Suite("Secrets, receipts, tickets and signed data", .serialized, .timeLimit(.minutes(5)))
struct SecretTests {
  private static let product = "com.example.issue1"
  private static let device = "device-of-the-reader"

  private func ask(_ proof: Proof, of stack: Stack) async throws -> Answer {
    try await stack.server.post(
      "/v1/grants",
      GrantRequest(
        proof: proof, product: try #require(ProductIdentifier(Self.product)),
        device: Device(id: try #require(DeviceIdentifier(Self.device)))))
  }

  @Test(
    "they are in no log at its most talkative, in no refusal, in no command line, in no list and not in the audit log"
  )
  func nowhere() async throws {
    var options = Stack.Options(parts: [])
    options.signsData = true
    try await Stack.with(options) { stack in
      let talkative = ["--log-level", "debug"]
      try await stack.start(.store, arguments: talkative + ["--shared-secret", "shared-secret-of-a-test"])
      try await stack.start(.server, arguments: talkative)
      let file = try await Material.file("issue.cbz", length: 50_000, in: stack.directory)
      let price = try #require(Price(amount: "2.99", currency: "USD"))
      try await stack.describe(Self.product, ProductDescription(prices: ["USA": price]))
      try await stack.release(file, as: Self.product)
      let bought = try await stack.buy(Self.product, device: Self.device)
      let receipt = try await stack.receipt(device: Self.device)
      let signed = try await stack.signedTransaction(bought.id.description)
      let parts = signed.split(separator: ".").map(String.init)

      // Taken, refused, malformed; delivered, told to the store, refunded, and told of by a notification.
      let granted = try await ask(Proof(store: "apple", signedTransaction: signed), of: stack)
      let grant = try granted.decoded(GrantResponse.self)
      _ = try await ask(Proof(store: "sandbox", receipt: receipt), of: stack)
      var refusals = ""
      for wrong in [
        Proof(store: "apple", signedTransaction: "\(parts[0]).\(parts[0]).\(parts[2])"),
        Proof(store: "apple", signedTransaction: signed + "="),
        Proof(store: "sandbox", receipt: receipt + "%"),
        Proof(store: "sandbox", receipt: String(receipt.dropLast(8))),
      ] {
        let answer = try await ask(wrong, of: stack)
        #expect((400..<500).contains(answer.status), "\(answer.text)")
        refusals += String(decoding: answer.body, as: UTF8.self)
      }
      let ticket = grant.download.ticket
      let content = try await stack.server.get("\(grant.download.contentURL)?ticket=\(ticket)")
      #expect(content.status == 200)
      refusals += try await stack.server.get("\(grant.download.contentURL)?ticket=\(ticket)A").text
      let report = CompletionReport(
        digest: grant.download.digest, version: grant.download.version, length: grant.download.length,
        placedAt: SystemWallClock().now())
      let device = stack.device(holding: grant)
      #expect(try await device.post("/v1/grants/\(grant.grant)/completion", report).status == 200)
      try await stack.control("transactions/\(bought.id)/refund")
      try await eventually {
        try await stack.deliveries(of: Self.product).contains { $0.state == .revoked }
      }

      let secrets = [
        "operator key": try #require(await stack.operatorWeb.credential),
        "store credential": "store-credential-of-a-test", "shared secret": "shared-secret-of-a-test",
        "account token": await stack.account, "ticket": ticket,
        "renewal secret": try #require(grant.renewalSecret), "receipt": String(receipt.prefix(200)),
        "end of a receipt": String(receipt.suffix(100)), "signed payload": parts[1],
        "signature": parts[2], "certificates": String(parts[0].suffix(200)), "key": "PRIVATE KEY",
      ]
      var places = ["refusals": refusals]
      for part in [Stack.Part.store, .server] {
        places["\(part)'s log"] = try await stack.logged(by: part)
        let process = try #require(await stack.processIdentifier(of: part))
        let line = try FileSystem.read("/proc/\(process)/cmdline", upTo: .mebibytes(1))
        places["\(part)'s command line"] = String(decoding: line, as: UTF8.self)
        #expect(line.count > 200)
      }
      for list in ["audit", "deliveries", "grants", "outbox", "stores", "irregularities", "products"] {
        let answer = try await stack.operatorWeb.get("/v1/operator/\(list)")
        #expect(answer.status == 200, "\(list): \(answer.text)")
        places[list] = String(decoding: answer.body, as: UTF8.self)
      }
      places["metrics"] = String(decoding: try await stack.server.get("/metrics").body, as: UTF8.self)
      for (place, text) in places {
        #expect(!text.isEmpty)
        for (name, secret) in secrets { #expect(!text.contains(secret), "\(name) in \(place)") }
      }
    }
  }
}

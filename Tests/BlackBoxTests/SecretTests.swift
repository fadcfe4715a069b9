import Commerce
import CoreTypes
import Crypto
import Files
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

/// The secrets that customers and stores show, and that operators configure, are looked for wherever a daemon writes or answers.
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
      try await look(for: secrets, in: ["refusals": refusals], of: stack)
    }
  }

  /// In `texts`, and in all that daemons and the command write and answer.
  private func look(for secrets: [String: String], in texts: [String: String], of stack: Stack) async throws {
    // Every JSON Web Token, whoever made it, begins with the algorithm of its header.
    let secrets = secrets.merging(["a token": "eyJhbGci", "an authorization": "Bearer "]) { $1 }
    var places = texts
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
    let commands = [
      ["doctor", "--json", "--pause", "1s"], ["stores", "--json"], ["outbox", "--json"], ["audit", "--json"],
      ["outbox", "--verbose"], ["export", stack.directory.path("catalog.json")],
    ]
    for command in commands {
      let outcome = try await stack.pullbox(command)
      places[command.joined(separator: " ")] = outcome.output + outcome.errors + " "
    }
    places["export"] = try Executables.text(stack.directory.path("catalog.json"))
    for (place, text) in places {
      #expect(!text.isEmpty, "\(place)")
      for (name, secret) in secrets { #expect(!text.contains(secret), "\(name) in \(place)") }
    }
  }

  @Test("an operator key among a command's words is not shown while the command waits for its server")
  func commandLine() async throws {
    let directory = try TemporaryDirectory()
    let key = "operator-key-of-a-test-on-a-command-line"
    for words in [["--operator-key", key], ["--operator-key=\(key)"]] {
      let process = try ChildProcess(
        Executables.path("pullbox"),
        ["--server", "http://127.0.0.1:1"] + words + [
          "--patience", "60s", "approve", "com.example.issue1", "1.0",
        ],
        environment: Executables.environment, output: directory.path("log"))
      try await eventually {
        let line = try FileSystem.read("/proc/\(process.identifier)/cmdline", upTo: .mebibytes(1))
        let shown = String(decoding: line, as: UTF8.self)
        return shown.contains("*****") && !shown.contains(key)
      }
      await process.killAndWait()
    }
  }

  @Test("a password in the address of a server is not repeated")
  func address() async throws {
    let directory = try TemporaryDirectory()
    let password = "password-of-a-test"
    for address in ["http://operator:\(password)@127.0.0.1:1", "http://127.0.0.1:1?key=\(password)"] {
      for words in [["-v", "products"], ["-v", "doctor"], ["approve", "com.example.issue1", "1.0"]] {
        let outcome = try await Executables.run(
          Executables.path("pullbox"), words,
          environment: Executables.environment.merging([
            "PULLBOX_SERVER": address, "PULLBOX_OPERATOR_KEY": "a",
          ]) { $1 },
          in: directory)
        #expect(outcome.ending == .exited(2), "\(words): \(outcome.errors)")
        #expect(!(outcome.output + outcome.errors).contains(password), "\(words): \(outcome.errors)")
      }
    }
  }

  @Test(
    "purchase tokens, and the keys and tokens by which Google and its customers are known, are nowhere either, also while it is away"
  )
  func google() async throws {
    var options = Stack.Options(parts: [])
    options.asksAsGoogle = true
    try await Stack.with(options) { stack in
      let talkative = ["--log-level", "debug"]
      try await stack.start(.store, arguments: talkative)
      try await stack.start(.server, arguments: talkative)
      let file = try await Material.file("issue.cbz", length: 50_000, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      let bought = try await stack.buy(Self.product, device: Self.device)
      let token = try await stack.purchaseToken(of: bought)
      let unknown = "a-purchase-token-that-no-store-knows"
      let granted = try await stack.askForGrant(of: Self.product, purchaseToken: token, device: Self.device)
      #expect(granted.status == 201, "\(granted.text)")
      let grant = try granted.decoded(GrantResponse.self)
      var refusals = ""
      func refuse(_ token: String, with statuses: ClosedRange<Int>) async throws {
        let answer = try await stack.askForGrant(of: Self.product, purchaseToken: token, device: Self.device)
        #expect(statuses.contains(answer.status), "\(answer.text)")
        refusals += answer.text
      }
      try await refuse(unknown, with: 400...499)
      let pushed = "pushed.by-someone.as-a-test"
      let forged = try await stack.server.send(
        "POST", "/v1/notifications/google", headers: [("Authorization", "Bearer \(pushed)")],
        body: Array(#"{"message":{"data":"e30=","messageId":"1"}}"#.utf8))
      #expect(forged.status == 403)
      refusals += forged.text
      let test = try await stack.store().send("POST", "/sandbox/v1/google/test-notification")
      #expect(test.status == 204)

      let content = try await stack.server.get(
        grant.download.contentURL, headers: [("Authorization", "Bearer \(grant.download.ticket)")])
      #expect(content.status == 200)
      // A store that is not there, and one that fails: both are told of with what was asked.
      await stack.kill(.store)
      let away = "a-purchase-token-of-a-store-that-is-away"
      try await refuse(away, with: 503...503)
      let report = CompletionReport(
        digest: grant.download.digest, version: grant.download.version, length: grant.download.length,
        placedAt: SystemWallClock().now())
      let completed = try await stack.device(holding: grant).post(
        "/v1/grants/\(grant.grant)/completion", report)
      #expect(completed.status == 202, "\(completed.text)")
      let waiting = try await stack.operatorWeb.get("/v1/operator/outbox").decoded(Page<OutboxCall>.self)
        .items
      #expect(waiting.map(\.kind) == ["acknowledge"])
      #expect(waiting.allSatisfy { $0.lastError != nil })
      refusals += waiting.compactMap(\.lastError).joined()
      try await stack.start(.store, arguments: talkative)
      let faults = try await stack.store().send(
        "PUT", "/sandbox/v1/faults", headers: [("Content-Type", "application/json")],
        body: Array(#"{"status":500}"#.utf8))
      #expect(faults.status == 200, "\(faults.text)")
      try await refuse(away, with: 503...503)

      let keyFile = try APIJSON.decode(
        JSONValue.self,
        from: Array(Executables.text(stack.directory.path("store/google-service-account.json")).utf8))
      let lines = try #require(keyFile["private_key"].text).split(separator: "\n")
      try await look(
        for: [
          "purchase token": token, "unknown token": unknown, "token of an outage": away,
          "pushed token": pushed,
          "private key": String(lines[lines.count / 2]), "key": "PRIVATE KEY", "access token": "access_token",
          "assertion": "assertion=", "renewal secret": try #require(grant.renewalSecret),
          "ticket": grant.download.ticket,
          "operator key": try #require(await stack.operatorWeb.credential),
          "account token": await stack.account,
        ], in: ["refusals": refusals], of: stack)
    }
  }

  @Test("what the daemons keep of keys and credentials is their owner's alone to read")
  func files() async throws {
    var options = Stack.Options(parts: [.store, .server])
    options.signsData = true
    try await Stack.with(options) { stack in
      let all = try await Executables.run(
        "/usr/bin/find",
        ["\(stack.directory.path("store"))", "\(stack.directory.path("server"))", "-type", "f"],
        in: stack.directory)
      let files = all.output.split(separator: "\n").map(String.init)
      var secrets: [String] = []
      for path in files {
        guard let permissions = try FileSystem.status(of: path)?.permissions else { continue }
        let bytes = try FileSystem.read(path, upTo: .mebibytes(64))
        let holdsKey = String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY")
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let isSecret = holdsKey || ["server-credential", "ticket-keys"].contains { name.hasPrefix($0) }
        guard isSecret || name.hasSuffix(".sqlite") else { continue }
        #expect(permissions & 0o077 == 0, "\(path)")
        if isSecret { secrets.append(name) }
      }
      // Receipts, signed data, the key to the interface, Google's account; the server's tickets.
      #expect(
        Set(secrets).isSuperset(of: ["authority.pem", "signed-data.pem", "google-service-account.json"]),
        "\(secrets)")
      #expect(secrets.contains { $0.hasPrefix("AuthKey_") }, "\(secrets)")
      #expect(secrets.contains { $0.hasPrefix("ticket-keys") }, "\(secrets)")
    }
  }
}

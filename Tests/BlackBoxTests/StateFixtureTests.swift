import Files
import Foundation
import HTTPClient
import PullboxTesting
import SystemCalls
import Testing

/// State that earlier versions wrote opens: each fixture below Tests/Fixtures/state, whose README.md tells what is in it. Plain
/// HTTP and JSON, so that nothing here follows this version's own idea of what was there.
@Suite("State directories of earlier versions", .timeLimit(.minutes(5)))
struct StateFixtureTests {
  private static let prefix = "com.example.fixture."
  private static let comic = prefix + "comic"

  @Test("there is a fixture of each daemon, the first ones among them")
  func kept() {
    #expect(StateFixture.all(of: .server).contains { $0.name == "schema-6" })
    #expect(StateFixture.all(of: .agent).contains { $0.name == "schema-3" })
    #expect(StateFixture.all(of: .store).contains { $0.name == "schema-1" })
  }

  // MARK: The server

  @Test(
    "a server answers about an earlier one's products, versions, grants, audit and uploads as that one did",
    arguments: StateFixture.all(of: .server))
  func server(fixture: StateFixture) async throws {
    let recorded = try fixture.recorded()
    try await FixtureStack.with([fixture]) { stack in
      try await stack.start(.server, recorded)
      #expect(try await stack.differences(from: recorded, of: .server) == [])

      let operatorKey = recorded["credentials"]["operator"].text
      let versions = try await stack.json(
        "GET", "/v1/operator/products/\(Self.comic)/versions", of: .server, credential: operatorKey)
      let states = versions["items"].items.map { "\($0["version"].text ?? "") \($0["state"].text ?? "")" }
      #expect(
        states == [
          "1.8 draft", "1.7 approved", "1.6 rejected", "1.5 submitted", "1.4 approved", "1.3 released",
          "1.2 released", "1.1 superseded", "1.0 withdrawn",
        ])
      #expect(
        versions["items"].items.map { $0["percentage"].number } == [
          nil, nil, nil, nil, nil, 25, 100, nil, nil,
        ])
      #expect(versions["items"].items[4]["scheduled"]["at"].text == "2099-01-01T00:00:00.000Z")

      var grants: [String: String] = [:]
      for (name, grant) in recorded["grants"].members {
        let status = try await stack.json(
          "GET", Self.operatorPath(of: name, in: recorded), of: .server, credential: operatorKey)
        grants[name] = status["state"].text
        // Its name alone, which tickets of that time tell, shows nothing any more.
        let refused = try await stack.web(.server).get("/v1/grants/\(grant.text ?? "")")
        let code = recorded["secrets"] == .null ? "receipt-needed" : "renewal-secret-missing"
        #expect(refused.text.contains("urn:pullbox:problem:\(code)"))
      }
      #expect(
        grants == [
          "granted": "granted", "reinstated": "granted", "stopped": "granted", "revoked": "revoked",
          "completed": "completed", "finished": "finished",
        ])
      #expect(try await stack.terminate(.server) == .exited(0))
    }
  }

  @Test(
    "tickets of both of an earlier server's keys are still genuine, and renewed with the receipt alone",
    arguments: StateFixture.all(of: .server))
  func tickets(fixture: StateFixture) async throws {
    let recorded = try fixture.recorded()
    try await FixtureStack.with([fixture]) { stack in
      try await stack.start(.server, recorded)
      let server = stack.web(.server)
      let content = try #require(recorded["contentURL"].text)
      func code(_ answer: Answer) throws -> String? {
        try JSONDecoder().decode(JSONValue.self, from: Data(answer.body))["type"].text
      }
      // Only a genuine ticket is told that it has expired.
      let tickets = recorded["tickets"].items.compactMap(\.text)
      #expect(tickets.count == 2)
      for ticket in tickets {
        let expired = try await server.get("\(content)?ticket=\(ticket)")
        #expect(expired.status == 403)
        #expect(try code(expired) == "urn:pullbox:problem:ticket-expired")
        let forged = String(ticket.dropLast()) + (ticket.hasSuffix("A") ? "B" : "A")
        #expect(
          try code(try await server.get("\(content)?ticket=\(forged)"))
            == "urn:pullbox:problem:ticket-invalid")
      }

      for grant in recorded["grants"].members.values {
        let refused = try await server.post("/v1/grants/\(grant.text ?? "")/tickets")
        let needed = recorded["secrets"] == .null ? "receipt-needed" : "renewal-secret-missing"
        #expect(try code(refused) == "urn:pullbox:problem:\(needed)")
      }
      for (name, secret) in recorded["secrets"].members {
        let device = stack.web(.server, credential: secret.text)
        let fresh = try await device.post("/v1/grants/\(recorded["grants"][name].text ?? "")/tickets")
        #expect(fresh.status == (name == "revoked" ? 403 : 201), "\(fresh.text)")
      }
    }
  }

  private static func awaitFinish(
    of path: String, _ recorded: JSONValue, in stack: FixtureStack
  ) async throws {
    let operatorKey = recorded["credentials"]["operator"].text
    try await eventually {
      try await stack.json("GET", path, of: .server, credential: operatorKey)["state"].text == "finished"
    }
  }

  /// Where operators find a grant of that name: a grant from before there were short names has the first digits of its
  /// identifier.
  private static func operatorPath(of name: String, in recorded: JSONValue) -> String {
    let short = recorded["shortNames"][name].text ?? String((recorded["grants"][name].text ?? "").prefix(16))
    return "/v1/operator/grants/\(short)"
  }

  @Test("with the receipt, a device of an earlier server gets the secret of its grant, and its bytes")
  func receiptAgain() async throws {
    let fixtures = [
      StateFixture(daemon: .store, name: "schema-1"), StateFixture(daemon: .server, name: "schema-6"),
    ]
    let recorded = try fixtures[0].recorded()
    try await FixtureStack.with(fixtures) { stack in
      for fixture in fixtures { try await stack.start(fixture.daemon, recorded) }
      func ask(_ product: String) async throws -> JSONValue {
        let receipt = recorded["receipt"].text ?? ""
        let body =
          #"{"store":"sandbox","receipt":"\#(receipt)","product":"\#(Self.prefix)\#(product)","#
          + #""device":{"id":"device-of-ben"}}"#
        return try await stack.json("POST", "/v1/grants", of: .server, body: body)
      }
      let grant = try await ask("paused")
      #expect(grant["grant"].text == recorded["grants"]["granted"].text)
      let device = stack.web(.server, credential: grant["renewalSecret"].text)
      let fresh = try await device.post("/v1/grants/\(grant["grant"].text ?? "")/tickets")
      #expect(fresh.status == 201)
      let ticket = try JSONDecoder().decode(JSONValue.self, from: Data(fresh.body))["ticket"].text ?? ""
      let content = try #require(recorded["contentURL"].text)
      let answer = try await stack.web(.server).get("\(content)?ticket=\(ticket)")
      #expect(answer.status == 200)
      #expect(answer.body.count == recorded["length"].number)
      let file = stack.directory.path("content")
      try Data(answer.body).write(to: URL(filePath: file))
      #expect(try await stack.digest(ofFile: file) == String(content.suffix(64)))
      // A grant that was revoked stays so.
      await #expect(throws: FixtureStack.Failure.self) { _ = try await ask("interrupted") }
    }
  }

  @Test(
    "an upload goes on at a later server where an earlier one left it, and becomes a version",
    arguments: StateFixture.all(of: .server))
  func uploads(fixture: StateFixture) async throws {
    let recorded = try fixture.recorded()
    try await FixtureStack.with([fixture]) { stack in
      try await stack.start(.server, recorded)
      let web = stack.web(.server, credential: recorded["credentials"]["operator"].text)
      let whole = try Array(
        Data(contentsOf: URL(filePath: stack.directory.path("unfinished.cbz"))))
      for (name, offset) in [("known", 10_000), ("unknown", 5_000), ("complete", 24_122)] {
        let path = try #require(recorded["uploads"][name]["path"].text)
        #expect(recorded["uploads"][name]["offset"].number == offset)
        // The one of unknown length was begun by the other protocol.
        let isDraft = name == "unknown"
        let question: [(String, String)] = isDraft ? [] : [("Tus-Resumable", "1.0.0")]
        let standing = try await web.send("HEAD", path, headers: question)
        #expect(standing.headers["Upload-Offset"] == "\(offset)", "\(name): \(standing.status)")
        #expect(standing.headers["Upload-Length"] == (isDraft ? nil : "\(whole.count)"))
        if offset < whole.count {
          var headers = question + [("Upload-Offset", "\(offset)")]
          headers +=
            isDraft
            ? [("Upload-Complete", "?1"), ("Content-Type", "application/partial-upload")]
            : [("Content-Type", "application/offset+octet-stream")]
          let added = try await web.send("PATCH", path, headers: headers, body: Array(whole[offset...]))
          #expect((200..<300).contains(added.status), "\(name): \(added.text)")
        }
        let product = "/v1/operator/products/\(Self.prefix)upload-\(name)"
        let operatorKey = recorded["credentials"]["operator"].text
        _ = try await stack.json("PUT", product, of: .server, credential: operatorKey, body: "{}")
        let upload = path.split(separator: "/").last.map(String.init) ?? ""
        let version = try await stack.json(
          "POST", product + "/versions", of: .server, credential: operatorKey,
          body: #"{"upload":"\#(upload)","version":"1.0"}"#)
        #expect(version["state"].text == "draft")
        #expect(version["length"].number == whole.count)
        #expect(
          try await version["digest"].text
            == stack.digest(ofFile: stack.directory.path("unfinished.cbz")))
      }
    }
  }

  // MARK: The agent

  @Test(
    "an agent is the device that an earlier one was, with its transactions, downloads, pieces and library",
    arguments: StateFixture.all(of: .agent))
  func agent(fixture: StateFixture) async throws {
    let recorded = try fixture.recorded()
    try await FixtureStack.with([fixture]) { stack in
      let identifier = try Executables.text(stack.directory.path("agent/device-id"))
      try await stack.start(.agent, recorded)
      let differences = try await stack.differences(from: recorded, of: .agent)
      #expect(differences == [], "\(differences)")
      let status = try await stack.json("GET", "/v1/status", of: .agent)
      #expect(status["device"].text.map { $0 + "\n" } == identifier)

      let downloads = try await stack.json("GET", "/v1/downloads", of: .agent)["downloads"].items
      var verified: [String: Int] = [:]
      var states: [String: String] = [:]
      for download in downloads {
        let name = String((download["product"].text ?? "").dropFirst(Self.prefix.count))
        verified[name] = download["bytesVerified"].number
        let state = download["state"].text ?? ""
        // Neither server nor store runs: what goes on by itself waits, or is about to.
        states[name] = ["waiting", "active"].contains(state) ? "under way" : state
      }
      #expect(
        states == [
          "comic": "finished", "magazine.issue1": "finished", "reported": "finished", "paused": "paused",
          "coins": "cancelled", "interrupted": "under way", "waiting": "under way",
        ])
      #expect(verified["paused"] == 1 << 20 && verified["interrupted"] == 1 << 20)
      #expect(verified["comic"] == 4682 && verified["waiting"] == 0)

      let library = try await stack.json("GET", "/v1/library", of: .agent)["items"].items
      #expect(library.count == 3)
      for item in library {
        let path = stack.place(item["path"].text ?? "")
        #expect(try FileSystem.status(of: path) != nil, "\(path)")
      }
      #expect(try await stack.terminate(.agent) == .exited(0))
    }
  }

  // MARK: The store

  @Test(
    "a store has an earlier one's accounts and transactions, and vouches for the receipt that one signed",
    arguments: StateFixture.all(of: .store))
  func store(fixture: StateFixture) async throws {
    let recorded = try fixture.recorded()
    try await FixtureStack.with([fixture]) { stack in
      try await stack.start(.store, recorded)
      #expect(try await stack.differences(from: recorded, of: .store) == [])

      let receipt = try #require(recorded["receipt"].text)
      let verdict = try await stack.json(
        "POST", "/verifyReceipt", of: .store, body: #"{"receipt-data":"\#(receipt)"}"#)
      #expect(verdict["status"].number == 0)
      #expect(verdict["receipt"]["bundle_id"].text == "com.example.pullbox")
      #expect(
        Set(verdict["receipt"]["in_app"].items.compactMap { $0["product_id"].text })
          == Set(
            ["comic", "waiting", "paused", "interrupted", "magazine.issue1", "coins"].map { Self.prefix + $0 }
          ))
      // The last byte is the signature's.
      var bytes = try #require(Base64Text.decode(receipt))
      bytes[bytes.count - 1] ^= 1
      let forged = try await stack.json(
        "POST", "/verifyReceipt", of: .store, body: #"{"receipt-data":"\#(Base64Text.encode(bytes))"}"#)
      #expect(forged["status"].number == 21003)

      // The store died in the middle of Eve's last purchase.
      let eve = try await stack.json(
        "GET", "/store/v1/transactions", of: .store, credential: recorded["accounts"]["eve"].text)
      #expect(eve["transactions"].items.last?["state"].text == "failed")
      #expect(eve["transactions"].items.last?["error"].text == "interrupted")
      // Ben's next one was to fail; it has the next number.
      let ben = recorded["accounts"]["ben"].text
      let declined = try await stack.json(
        "POST", "/store/v1/purchases", of: .store, credential: ben,
        body: #"{"product":"com.example.fixture.comic"}"#)["transaction"]
      #expect(declined["error"].text == "payment-declined")
      #expect(declined["id"].text == "2000000000000021")
      // The server finishes what is in the queue.
      let finish = "/store/v1/transactions/2000000000000011/finish"
      #expect(try await stack.web(.store, credential: ben).post(finish).status == 403)
      let credential = recorded["storeCredential"].text
      #expect(try await stack.web(.store, credential: credential).post(finish).status == 200)
      let queue = try await stack.json(
        "GET", "/store/v1/transactions?unfinished=true", of: .store, credential: ben)
      #expect(
        queue["transactions"].items.map { $0["id"].text } == [
          "2000000000000001", "2000000000000008", "2000000000000009", "2000000000000010",
        ])
      #expect(try await stack.terminate(.store) == .exited(0))
    }
  }

  // MARK: All three

  @Test("what three earlier daemons left half done, three later ones finish together")
  func together() async throws {
    // These were made in one run.
    let fixtures = [
      StateFixture(daemon: .store, name: "schema-1"), StateFixture(daemon: .server, name: "schema-6"),
      StateFixture(daemon: .agent, name: "schema-3"),
    ]
    let recorded = try fixtures[0].recorded()
    let deliveries = try fixtures[1].recorded()["answers"].items.first {
      $0["path"].text?.hasPrefix("/v1/operator/deliveries") == true
    }
    try await FixtureStack.with(fixtures) { stack in
      for fixture in fixtures { try await stack.start(fixture.daemon, recorded) }
      let agent = AgentClient(socket: stack.directory.path("agent/agent.sock"), client: stack.client)

      // The store hears what was in the outbox.
      _ = try await agent.finishedTransaction(of: Self.prefix + "reported")
      let completed = Self.operatorPath(of: "completed", in: recorded)
      try await Self.awaitFinish(of: completed, recorded, in: stack)

      let before = try await stack.json("GET", "/v1/downloads", of: .agent)["downloads"].items
      let paused = try #require(before.first { $0["product"].text == Self.prefix + "paused" })
      _ = try await stack.json(
        "POST", "/v1/downloads/\(paused["id"].text ?? "")/resume", of: .agent)
      for name in ["paused", "interrupted"] {
        _ = try await agent.finishedDownload(of: Self.prefix + name)
        let library = try await stack.json("GET", "/v1/library", of: .agent)["items"].items
        let item = try #require(library.first { $0["product"].text == Self.prefix + name }, "\(name)")
        let path = stack.place(item["path"].text ?? "")
        let digests =
          deliveries?["body"]["items"].items
          .filter { $0["product"].text == Self.prefix + name }.compactMap { $0["digest"].text } ?? []
        #expect(digests.contains(try await stack.digest(ofFile: path)))
        _ = try await agent.finishedTransaction(of: Self.prefix + name)
      }
      // The piece that was there is not fetched again.
      let after = try await stack.json("GET", "/v1/downloads/\(paused["id"].text ?? "")", of: .agent)
      let fetched = (after["bytesReceived"].number ?? 0) - (paused["bytesReceived"].number ?? 0)
      let total = try #require(after["bytesTotal"].number)
      #expect(fetched >= total - (1 << 20) && fetched < total, "\(fetched) of \(total)")
    }
  }
}

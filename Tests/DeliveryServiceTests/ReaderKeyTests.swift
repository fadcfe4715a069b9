import CatalogDocuments
import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import CatalogFeeds
@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

/// docs/catalogue-feeds.md, "Readers' keys".
@Suite("Keys of applications for reading")
struct ReaderKeyTests {
  private static let issue = "com.example.issue1"
  private static let content = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7 / 3) }
  private static let file = "/opds/files/com.example.issue1/1.0/com.example.issue1.cbz"

  /// Runs a server that sells an issue for 2.99 EUR in France.
  private func run(
    options: [String] = [], timer: any MonotonicClock = SystemMonotonicClock(),
    _ body: @escaping (ServerHarness) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: options, timer: timer) { server in
      let description = ProductDescription(
        localizations: ["en-US": Product.Localization(title: "One", description: "")],
        prices: ["FRA": try #require(Price(amount: "2.99", currency: "EUR"))],
        publication: ProductIdentifier("com.example.series"))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.issue)", body: description, as: OperatorProduct.self)
      try await server.approve(Self.content, "1.0")
      try await server.release("1.0")
      try await body(server)
    }
  }

  private func proof(
    _ server: ServerHarness, cancelled: Timestamp? = nil, device: Device? = nil
  ) throws -> ProofList {
    let receipt = try server.store.receipt(
      of: [server.purchase(cancelled: cancelled)], device: (device ?? server.device).id)
    return ProofList(Proof(store: "sandbox", receipt: receipt))
  }

  private func add(
    _ title: String, _ server: ServerHarness, territory: String? = "FRA"
  ) async throws -> NewReaderKey {
    try await server.api.call(
      "POST", "/v1/readers",
      body: ReaderKeyRequest(
        proofs: try proof(server), device: server.device, title: title, territory: territory),
      as: NewReaderKey.self
    ).value
  }

  private func list(_ server: ServerHarness) async throws -> [ReaderKeyList.Item] {
    try await server.api.call(
      "POST", "/v1/readers/list",
      body: ReaderKeyRequest(proofs: try proof(server), device: server.device), as: ReaderKeyList.self
    ).value.readers
  }

  private func post(_ path: String, _ server: ServerHarness, _ bytes: [UInt8]) async throws -> ClientResponse
  {
    var request = ClientRequest(
      method: "POST", url: server.api.url(path), headers: [("Content-Type", "application/json")])
    request.body = .bytes(bytes)
    return try await server.client.send(request)
  }

  private func basic(_ name: String, _ password: String) -> (String, String) {
    ("Authorization", "Basic " + Base64.encode(Array("\(name):\(password)".utf8)))
  }

  private func get(
    _ path: String, _ server: ServerHarness, _ credentials: (String, String)? = nil,
    headers: [(String, String)] = []
  ) async throws -> ClientResponse {
    try await server.client.send(
      ClientRequest(
        method: "GET", url: server.api.url(path), headers: headers + (credentials.map { [$0] } ?? [])))
  }

  private func text(
    _ path: String, _ server: ServerHarness, _ credentials: (String, String)? = nil
  ) async throws -> String {
    let answer = try await get(path, server, credentials)
    #expect(answer.status == 200, "\(path)")
    return String(decoding: answer.body, as: UTF8.self)
  }

  @Test("a key opens what its customer owns, in both forms, and its file, and nothing to others")
  func owned() async throws {
    try await run { server in
      let key = try await add("Tablet", server)
      #expect(key.address == "/opds")
      let credentials = basic(key.name, key.password)
      for form in ["v1.2", "v2"] {
        let start = try await text("/opds/\(form)", server, credentials)
        #expect(start.contains("/opds/\(form)/owned"))
        let owned = try await text("/opds/\(form)/owned", server, credentials)
        #expect(owned.contains("http://opds-spec.org/acquisition\""))
        #expect(owned.contains(Self.file))
        #expect(!owned.contains("acquisition/buy"))
        let entry = try await text("/opds/\(form)/products/\(Self.issue)", server, credentials)
        #expect(entry.contains(Self.file))
      }
      let sent = try await get(Self.file, server, credentials)
      #expect(sent.status == 200)
      #expect(sent.body == Self.content)
      #expect(sent.headers["Content-Disposition"]?.hasPrefix("attachment; ") == true)
      #expect(sent.headers["Cache-Control"] == "private, no-cache")
      let part = try await get(Self.file, server, credentials, headers: [("Range", "bytes=10-19")])
      #expect(part.status == 206)
      #expect(part.body == Array(Self.content[10..<20]))
      for path in [Self.file, "/opds/v2/owned", "/opds"] {
        let stranger = try await get(path, server)
        #expect(stranger.status == 401, "\(path)")
      }
    }
  }

  @Test("the name and the password are taken as Basic in UTF-8, as Bearer, and however they were typed")
  func forms() async throws {
    try await run { server in
      let key = try await add("Tablet", server)
      let words = key.password.split(separator: "-")
      #expect(words.count == 4)
      for credentials in [
        basic(key.name, key.password),
        basic(key.name.uppercased(), words.joined(separator: " ").uppercased()),
        ("Authorization", "Bearer \(key.name).\(key.password)"),
        ("authorization", basic(key.name, key.password).1),
      ] {
        let answer = try await get("/opds/v2", server, credentials)
        #expect(answer.status == 200, "\(credentials)")
      }
      for credentials in [
        basic(key.name, key.password + "x"), basic("nobody", key.password), basic(key.name, ""),
        basic("é", "漢"), basic("a\u{0}b", "x"), ("Authorization", "Basic x"), ("Authorization", "Basic"),
        ("Authorization", "Digest x"),
        ("Authorization", "Bearer \(key.password)"), ("Authorization", "Basic /////w=="),
      ] {
        let answer = try await get("/opds/v2", server, credentials)
        #expect(answer.status == 401, "\(credentials)")
        #expect(answer.headers["Content-Type"] == "application/opds-authentication+json")
      }
      // Credentials in an address are none.
      let inQuery = try await get("/opds/v2?ticket=\(key.password)", server)
      #expect(inQuery.status == 400)
    }
  }

  @Test("a key is listed without its password, with its last use, until it is removed; then it opens nothing")
  func removal() async throws {
    try await run { server in
      let key = try await add("Tablet", server)
      let before = try await list(server)
      #expect(before.map(\.name) == [key.name])
      #expect(before.map(\.title) == ["Tablet"])
      #expect(before.map(\.used) == [nil])
      _ = try await text("/opds/v2/owned", server, basic(key.name, key.password))
      let after = try await list(server)
      #expect(after.map(\.used) == [server.clock.now()])
      let request = try APIJSON.encode(ReaderKeyRequest(proofs: try proof(server), device: server.device))
      let removed = try await post("/v1/readers/\(key.name)/remove", server, request)
      #expect(removed.status == 204)
      let gone = try await get("/opds/v2/owned", server, basic(key.name, key.password))
      #expect(gone.status == 401)
      let left = try await list(server)
      #expect(left.isEmpty)
    }
  }

  @Test("a body under way ends when its key is removed, and that of another key goes on")
  func bodyOfRemovedKey() async throws {
    let large = [UInt8](repeating: 7, count: 16 << 20)
    try await ReaderShop.run(large) { shop in
      let (removed, other) = (try await shop.add("One"), try await shop.add("Two"))
      let port = try #require(
        shop.server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      func begin(_ key: NewReaderKey) async throws -> RawConnection {
        let connection = try RawConnection.tcp(port: port, receiveBuffer: 65_536)
        let credentials = ReaderShop.basic(key).1
        try await connection.send(
          "GET /opds/files/\(Self.issue)/1.0/\(Self.issue).cbz HTTP/1.1\r\nHost: a\r\nAuthorization: \(credentials)\r\n\r\n"
        )
        let head = try await connection.receive(through: "\r\n\r\n")
        #expect(head.hasPrefix("HTTP/1.1 200 "))
        _ = try await connection.receive(exactly: 1000)
        return connection
      }
      let (ending, running) = (try await begin(removed), try await begin(other))
      try await shop.remove(removed)
      await #expect(throws: (any Error).self) { _ = try await ending.receive(exactly: large.count - 1000) }
      let rest = try await running.receive(exactly: large.count - 1000)
      #expect(rest.count == large.count - 1000)
    }
  }

  @Test("a refund takes the link and the file with the next request")
  func refund() async throws {
    try await run { server in
      let key = try await add("Tablet", server)
      let credentials = basic(key.name, key.password)
      let before = try await get(Self.file, server, credentials)
      #expect(before.status == 200)
      let request = EntitlementsRequest(
        proof: try #require(proof(server, cancelled: server.clock.now()).all.first), device: server.device)
      _ = try? await server.api.call(
        "POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
      let owned = try await text("/opds/v2/owned", server, credentials)
      #expect(!owned.contains(Self.file))
      let after = try await get(Self.file, server, credentials)
      #expect(after.status == 402)
    }
  }

  @Test("a key takes a place among the customer's devices, and gives it back")
  func devices() async throws {
    try await run(options: ["--store-device-limit", "2"]) { server in
      let (first, _) = (try await add("One", server), try await add("Two", server))
      await #expect(throws: (any Error).self) { try await add("Three", server) }
      let request = try APIJSON.encode(
        ReaderKeyRequest(proofs: try proof(server), device: server.device, title: "Three"))
      let refused = try await post("/v1/readers", server, request)
      #expect(refused.status == 403)
      #expect(String(decoding: refused.body, as: UTF8.self).contains("device-limit"))
      _ = try await post(
        "/v1/readers/\(first.name)/remove", server,
        try APIJSON.encode(ReaderKeyRequest(proofs: try proof(server), device: server.device)))
      _ = try await add("Three", server)
    }
  }

  @Test("what a key fetched is counted, finishes nothing, and owes nothing")
  func counted() async throws {
    try await run { server in
      let key = try await add("Tablet", server)
      let sent = try await get(Self.file, server, basic(key.name, key.password))
      #expect(sent.status == 200)
      let device = try #require(DeviceIdentifier("reader-\(key.name)"))
      let product = try #require(ProductIdentifier(Self.issue))
      let database = server.server.grants.grantStore.database
      let grants = try await database.read { try GrantTable.all(of: product, on: device, in: $0) }
      let grant = try #require(grants.first)
      let debt = ObligationTable.Debt(transaction: grant.transactionKey, device: device)
      let owed = try await database.read { try ObligationTable.products(owedBy: debt, in: $0) }
      var bytes = ByteCount.zero
      // The loop counts what the kernel took, which the client may have read before.
      while bytes < ByteCount(Self.content.count) {
        try await server.server.recorder.record()
        bytes = try await database.read { try DeliveredBytesTable.bytes(of: grant.number, in: $0) }
      }
      #expect(grants.map(\.machine.name) == [.reading])
      #expect(owed.isEmpty)
      #expect(bytes == ByteCount(Self.content.count))
      // The same grant serves every request.
      let again = try await get(Self.file, server, basic(key.name, key.password))
      #expect(again.status == 200)
      let count = try await database.read {
        try GrantTable.all(of: product, on: device, in: $0).count
      }
      #expect(count == 1)
      let finished = server.store.state.withLock { $0.finished }
      #expect(finished.isEmpty)
    }
  }

  @Test("wrong passwords are bounded for a name and an address, and the right one from elsewhere works")
  func attempts() async throws {
    let timer = ManualMonotonicClock()
    try await run(options: ["--trusted-proxy", "127.0.0.1"], timer: timer) { server in
      let key = try await add("Tablet", server)
      func status(_ password: String, from address: String) async throws -> Int {
        try await get(
          "/opds/v2", server, basic(key.name, password), headers: [("X-Forwarded-For", address)]
        ).status
      }
      var refused = 0
      for number in 0..<50 {
        let answer = try await status("wrong-\(number)", from: "192.0.2.1")
        let expected = number < ReaderAttempts.burst ? 401 : 429
        #expect(answer == expected)
        if answer == 429 { refused += 1 }
      }
      #expect(refused == 50 - ReaderAttempts.burst)
      let elsewhere = try await status(key.password, from: "198.51.100.1")
      #expect(elsewhere == 200)
      let here = try await status(key.password, from: "192.0.2.1")
      #expect(here == 429)
      timer.advance(by: ReaderAttempts.interval)
      let later = try await status(key.password, from: "192.0.2.1")
      #expect(later == 200)
    }
  }

  @Test("a key is asked for with a title, a territory and a locale that there are, and with a purchase")
  func refusals() async throws {
    try await run { server in
      for (title, territory, locale) in [
        ("", "FRA", nil), (String(repeating: "x", count: 101), "FRA", nil), ("a", "FR", nil),
        ("a", nil, "x y"),
      ] as [(String, String?, String?)] {
        let request = try APIJSON.encode(
          ReaderKeyRequest(
            proofs: try proof(server), device: server.device, title: title, territory: territory,
            locale: locale))
        let answer = try await post("/v1/readers", server, request)
        #expect(answer.status == 400, "\(title) \(territory ?? "") \(locale ?? "")")
      }
      let receipt = try server.store.receipt(of: [], device: server.device.id)
      let empty = try APIJSON.encode(
        ReaderKeyRequest(
          proofs: ProofList(Proof(store: "sandbox", receipt: receipt)), device: server.device, title: "a"))
      let answer = try await post("/v1/readers", server, empty)
      #expect(answer.status == 402)
    }
  }

  @Test("the document says how a key is shown, Basic first, and lies where everyone reads it")
  func document() async throws {
    try await run { server in
      let answer = try await get("/opds/authentication", server)
      #expect(answer.status == 200)
      #expect(answer.headers["Content-Type"] == "application/opds-authentication+json")
      let document = try #require(
        try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
      #expect(document["id"] as? String == "/opds/authentication")
      let flows = try #require(document["authentication"] as? [[String: Any]])
      #expect(flows.first?["type"] as? String == "http://opds-spec.org/auth/basic")
    }
  }

  @Test("four words have 66 bits, and come back however they are typed")
  func passwords() {
    var seen: Set<String> = []
    for _ in 0..<1000 {
      let password = ReaderPassword.make()
      let words = password.split(separator: "-")
      #expect(words.count == 4 && words.allSatisfy { $0.count == 5 })
      #expect(ReaderPassword.canonical(" " + password.uppercased().replacing("-", with: "  ")) == password)
      seen.insert(password)
    }
    #expect(seen.count == 1000)
    // 16 consonants and 5 vowels: (16³ · 5²)⁴.
    #expect(pow(16.0 * 16 * 16 * 5 * 5, 4) > pow(2, 66))
  }
}

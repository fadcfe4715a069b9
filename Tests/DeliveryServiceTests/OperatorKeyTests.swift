import CoreTypes
import Crypto
import Files
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxAPIServer
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService
@testable import RouteAccess

@Suite("Operator keys")
struct OperatorKeyTests {
  private let secret = "pullbox_a-secret-that-was-made-for-these-tests"
  private var hash: String { "sha256:" + SHA256Digest.of(secret.utf8).hexadecimal }

  private func load(_ arguments: [String]) throws -> DeliveryConfiguration {
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    guard case .run(let parsed) = try parser.parse(["--store-credential", "s"] + arguments) else {
      throw UsageError("help")
    }
    return try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed)
  }

  private func refusal(_ arguments: [String]) throws -> String? {
    let configuration = try load(arguments)
    do {
      _ = try configuration.keyring()
      return nil
    } catch {
      return error.description
    }
  }

  private func file(_ text: String, permissions: UInt32 = 0o600, in directory: TemporaryDirectory) throws
    -> String
  {
    let path = directory.path("operators-\(permissions)")
    try DurableFile.write(Array(text.utf8).span, to: path, permissions: permissions)
    return path
  }

  @Test("a hash stands for its key, in the configuration and on a line of the file")
  func hashes() throws {
    let directory = try TemporaryDirectory()
    let path = try file(
      """
      // The editors.
      # And who reads.

        {name: 'ada', scopes: ['read', 'publish'], hash: '\(hash)'}
      {"name": "rita", "scopes": ["read"], "hash": "sha256:\(SHA256Digest.of([1]).hexadecimal)"}
      """, in: directory)
    let named = try load(["--named-operator-key", "{name: 'ada', scopes: ['read'], hash: '\(hash)'}"])
      .keyring()
    #expect(named.keys.count == 1 && named.keys[0].secret.matches(secret) && named.plain.isEmpty)
    let read = try load(["--operator-key-file", path]).keyring()
    #expect(read.keys.map(\.holder.name) == ["ada", "rita"])
    #expect(read.keys.map(\.holder.scopes) == [[.read, .publish], [.read]])
    #expect(read.keys.map { $0.secret.matches(secret) } == [true, false])
  }

  @Test("a key that could be guessed is refused, one of 128 bits is taken with a warning")
  func lengths() throws {
    // 31 hexadecimal digits, 21 of base64url, and many of one kind.
    for weak in [
      "0123456789abcdef0123456789abcde", "Zx81-pQ_cV7tR2mL9kYw0", String(repeating: "kq", count: 40),
    ] {
      let message = try refusal(["--operator-key", weak])
      #expect(message?.contains("could be guessed") == true, "\(weak)")
      #expect(message?.contains(weak) == false)
    }
    let named = try refusal(["--named-operator-key", "{name: 'ada', key: 'short', scopes: ['read']}"])
    #expect(named?.contains("ada") == true && named?.contains("short'") == false)
    for strong in ["0123456789abcdef0123456789abcdef", "Zx81-pQ_cV7tR2mL9kYw0A"] {
      #expect(try load(["--operator-key", strong]).keyring().plain == ["operator"])
    }
  }

  @Test("equal keys and names are refused, wherever they stand and however they are written")
  func duplicates() throws {
    let directory = try TemporaryDirectory()
    let path = try file("{name: 'ada', scopes: ['read'], hash: '\(hash)'}", in: directory)
    #expect(
      try refusal(["--operator-key-file", path, "--operator-key", secret])?.contains("are the same") == true)
    let other = "{name: 'ada', scopes: ['read'], key: 'another-key-of-the-operator-ada'}"
    #expect(
      try refusal(["--operator-key-file", path, "--named-operator-key", other])?.contains("same name") == true
    )
  }

  @Test("what is no entry is refused with its place, and tells no secret")
  func malformed() throws {
    let directory = try TemporaryDirectory()
    for line in [
      "nonsense", "{name: 'ada', scopes: ['read']}", "{name: 'ada', scopes: ['read'], hash: 'sha256:00'}",
      "{name: 'ada', scopes: ['read'], hash: 'md5:\(hash.dropFirst(7))'}",
      "{name: 'ada', scopes: ['read'], hash: '\(hash)', key: '\(secret)'}",
      "{name: 'ada', scopes: ['reed'], hash: '\(hash)'}", "{name: 'ada', scopes: ['read'], hsah: '\(hash)'}",
    ] {
      let path = try file("// first\n" + line, in: directory)
      let message = try #require(try refusal(["--operator-key-file", path]), "\(line)")
      #expect(message.contains(path) && !message.contains(secret), "\(message)")
    }
    #expect(try refusal(["--operator-key-file", directory.path("none")])?.contains("no such file") == true)
    let open = try file("{name: 'ada', scopes: ['read'], hash: '\(hash)'}", permissions: 0o640, in: directory)
    #expect(try refusal(["--operator-key-file", open])?.contains("chmod 600") == true)
    // The server makes no such file.
    #expect(try refusal(["--operator-key-file", open])?.contains("remove it") == false)
  }

  @Test(
    "a ticket's lifetime is one second to the time that keys are kept",
    arguments: [
      ("0s", false), ("999ms", false), ("1s", true), ("31d", true), ("32d", false), ("90d", false),
    ])
  func lifetimes(text: String, isTaken: Bool) throws {
    let configuration = try load(["--ticket-lifetime", text])
    let key = TicketKeys.Key(identifier: 1, secret: MessageAuthenticationKey(secret: [1]))
    let keys = try #require(TicketKeys([key]))
    if isTaken {
      _ = try configuration.deliverySettings(keys: keys, at: Timestamp(millisecondsSinceEpoch: 0))
    } else {
      #expect(throws: ConfigurationError.self) {
        try configuration.deliverySettings(keys: keys, at: Timestamp(millisecondsSinceEpoch: 0))
      }
    }
  }

  @Test("the file is read again at a reload, and a file that cannot be used changes nothing")
  func reload() async throws {
    let directory = try TemporaryDirectory()
    let path = try file("{name: 'ada', scopes: ['read'], hash: '\(hash)'}", in: directory)
    try await ServerHarness.run(options: ["--operator-key-file", path]) { server in
      func asks(_ key: String) async throws -> Int {
        try await server.client.send(
          ClientRequest(
            method: "GET", url: server.api.url("/v1/operator/audit"),
            headers: [("Authorization", "Bearer \(key)")])
        ).status
      }
      #expect(try await asks(secret) == 200)
      let configuration = server.configuration
      let other = "another-secret-that-was-made-for-these-tests"
      let line = "{name: 'bob', scopes: ['read'], hash: 'sha256:\(SHA256Digest.of(other.utf8).hexadecimal)'}"
      try DurableFile.write(Array(line.utf8).span, to: path, permissions: 0o600)
      await server.server.reload { configuration }
      #expect(try await asks(secret) == 401)
      #expect(try await asks(other) == 200)
      try DurableFile.write(Array("nonsense".utf8).span, to: path, permissions: 0o600)
      await server.server.reload { configuration }
      #expect(try await asks(other) == 200)
    }
  }
}

@Suite("Wrong operator keys")
struct WrongKeyTests {
  @Test("a hundred wrong keys meet 429 and one line in the audit log; the right key is served all the while")
  func server() async throws {
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(options: ["--trusted-proxy", "127.0.0.1"], timer: timer) { server in
      func ask(_ key: String, from address: String) async throws -> ClientResponse {
        try await server.client.send(
          ClientRequest(
            method: "GET", url: server.api.url("/v1/operator/audit"),
            headers: [("Authorization", "Bearer \(key)"), ("X-Forwarded-For", address)]))
      }
      var statuses: [Int: Int] = [:]
      for number in 0..<100 {
        let refused = try await ask("wrong-key-\(number)", from: "192.0.2.7")
        statuses[refused.status, default: 0] += 1
        if refused.status == 429 {
          // At least the second that it takes, and a random time more.
          #expect(refused.headers["Retry-After"].flatMap { Int($0) } ?? 0 >= 1)
        }
      }
      #expect(statuses == [401: 10, 429: 90])
      #expect(try await ask(ServerHarness.operatorKey, from: "192.0.2.7").status == 200)
      #expect(try await ask(ServerHarness.operatorKey, from: "192.0.2.8").status == 200)
      #expect(try await ask("wrong", from: "192.0.2.8").status == 401)
      // No key at all is no guess.
      for _ in 0..<20 {
        let missing = try await server.problem {
          _ = try await server.api.exchange("GET", "/v1/operator/audit")
        }
        #expect(missing.code == .unauthorized)
      }
      // The worker's first pass may have reported some of them: the rest follow a minute later.
      func counts() async throws -> [String: Int] {
        let entries = try await server.audit([("action", "key.refused")])
        return Dictionary(
          entries.map { ($0.subject, $0.detail.flatMap { Int($0.prefix { $0 != " " }) } ?? 0) },
          uniquingKeysWith: +)
      }
      let first = try #require(PeerNetwork("192.0.2.7")).description
      let second = try #require(PeerNetwork("192.0.2.8")).description
      let expected = [first: 100, second: 1]
      while try await counts() != expected {
        timer.advance(by: WrongKeys.reportInterval)
        await Task.yield()
      }
      #expect(try await server.audit([("action", "key.refused")]).count <= 4)
    }
  }
}

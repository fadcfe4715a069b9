import AgentTesting
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import DownloadAgent

/// The keys of applications for reading, from the app's socket through to the server.
@Suite("Readers' keys through the agent", .serialized, .timeLimit(.minutes(5)))
struct ReaderKeyTests {
  private static func code(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }

  @Test(
    "a key is made, listed and ended with the account's receipt, for this device, in the account's territory")
  func lifecycle() async throws {
    let server = FakeServer()
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let answer = try await harness.ask("POST", "/v1/readers", #"{"title":"Tablet","locale":"fr-FR"}"#)
        #expect(answer.status == 201)
        let key = try APIJSON.decode(NewReaderKey.self, from: answer.body)
        #expect(key.password == "kabiz-motur-felan-sipod")
        // A server that tells a path is where this device finds it.
        #expect(key.address == "\(url)/opds")
        let asked = try #require(server.state.current.readers.requests.first)
        #expect(asked.title == "Tablet" && asked.locale == "fr-FR" && asked.territory == "USA")
        #expect(asked.proofs.all.map(\.receipt) == ["AAAA"])
        let status = try await harness.get("/v1/status", as: AgentStatus.self)
        #expect(asked.device.id == status.device && asked.device.publicKey != nil)

        let listed = try await harness.ask("POST", "/v1/readers/list", "{}")
        #expect(
          try APIJSON.decode(ReaderKeyList.self, from: listed.body).readers.map { [$0.name, $0.title] }
            == [[key.name, "Tablet"]])
        // Capital letters are taken for small ones.
        #expect(try await harness.ask("DELETE", "/v1/readers/\(key.name.uppercased())").status == 204)
        let again = try await harness.ask("DELETE", "/v1/readers/\(key.name)")
        #expect(again.status == 404)
        #expect(try Self.code(again) == .notFound)
        let rest = try await harness.ask("POST", "/v1/readers/list", "{}")
        #expect(try APIJSON.decode(ReaderKeyList.self, from: rest.body).readers.isEmpty)
        #expect(server.state.current.readers.requests.allSatisfy { $0.device.id == status.device })
      }
    }
  }

  @Test("an address that the server knows for its own is told as it is")
  func address() async throws {
    let server = FakeServer()
    server.change { $0.readers.address = "https://comics.example/opds" }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let answer = try await harness.ask("POST", "/v1/readers", #"{"title":"Tablet"}"#)
        let key = try APIJSON.decode(NewReaderKey.self, from: answer.body)
        #expect(key.address == "https://comics.example/opds")
      }
    }
  }

  @Test(
    "the server's refusals are passed on with their words, and a service that is away is told",
    arguments: [
      (Problem(.deviceLimit, "3 of 3 devices are in use"), 403, ProblemCode.deviceLimit),
      (Problem(.purchaseRequired, "nothing was bought"), 402, .purchaseRequired),
      (Problem(.unavailable), 503, .unavailable),
    ])
  func refusals(problem: Problem, status: Int, code: ProblemCode) async throws {
    let server = FakeServer()
    server.change { state in
      for name in ["POST /v1/readers", "POST /v1/readers/list", "POST /v1/readers/remove"] {
        state.refusals[name] = [problem]
      }
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        for (method, path, body) in [
          ("POST", "/v1/readers", #"{"title":"Tablet"}"#), ("POST", "/v1/readers/list", "{}"),
          ("DELETE", "/v1/readers/kabiz12345", nil),
        ] as [(String, String, String?)] {
          let answer = try await harness.ask(method, path, body)
          let told = try APIJSON.decode(Problem.self, from: answer.body)
          #expect(answer.status == status && told.code == code, "\(path)")
          if let detail = problem.detail { #expect(told.detail == detail, "\(path)") }
        }
      }
    }
  }

  @Test("what cannot be a name, and a body without a title, reach no server")
  func malformed() async throws {
    let server = FakeServer()
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        for name in ["a-b", "%2E%2E", String(repeating: "a", count: 65)] {
          #expect(try await harness.ask("DELETE", "/v1/readers/\(name)").status == 404)
        }
        let answer = try await harness.ask("POST", "/v1/readers", "{}")
        #expect(answer.status == 400)
        #expect(server.state.current.readers.requests.isEmpty)
      }
    }
  }

  @Test("no line of the log has the password, the title or the receipt; a change is logged with its outcome")
  func log() async throws {
    let server = FakeServer()
    let lines = Locked("")
    let log = Log(level: .debug, format: .json) { line in
      let text = String(decoding: line, as: UTF8.self)
      lines.withLock { $0 += text }
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, log: log) { _ in
        let made = try await harness.ask("POST", "/v1/readers", #"{"title":"My Tablet"}"#)
        server.change { $0.refusals["POST /v1/readers"] = [Problem(.deviceLimit)] }
        let refused = try await harness.ask("POST", "/v1/readers", #"{"title":"My Tablet"}"#)
        let ended = try await harness.ask("DELETE", "/v1/readers/reader1")
        #expect([made, refused, ended].map(\.status) == [201, 403, 204])
      }
    }
    let text = lines.current
    #expect(text.contains(#""request":"POST /v1/readers","outcome":"201""#))
    #expect(text.contains(#""request":"DELETE /v1/readers/reader1","outcome":"204""#))
    for secret in ["kabiz", "motur", "My Tablet", "AAAA"] { #expect(!text.contains(secret), "\(secret)") }
  }
}

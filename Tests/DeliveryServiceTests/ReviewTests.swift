import Commerce
import Files
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import DeliveryService

@Suite("Review")
struct ReviewTests {
  private let package = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 11) }

  /// A server with three keys: two that hand in and review, and one that only hands in.
  private func withKeys(
    options: [String] = [],
    _ body: (ServerHarness, _ ada: APIClient, _ bob: APIClient, _ cem: APIClient) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("server.json5")
    let text = """
      { operatorKeys: [
        { name: "ada", key: "key-of-the-operator-ada", scopes: ["read", "publish", "review"] },
        { name: "bob", key: "key-of-the-operator-bob", scopes: ["read", "publish", "review"] },
        { name: "cem", key: "key-of-the-operator-cem", scopes: ["read", "publish"] },
      ] }
      """
    let bytes = Array(text.utf8)
    try DurableFile.write(bytes.span, to: path)
    try await ServerHarness.run(options: ["--config", path] + options) { server in
      func client(_ name: String) -> APIClient {
        APIClient(
          baseURL: server.api.baseURL, credential: "key-of-the-operator-\(name)", client: server.client)
      }
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.issue1", body: ProductDescription(),
        as: OperatorProduct.self)
      _ = try await server.submit(package, as: "com.example.issue1", version: "1.0")
      try await body(server, client("ada"), client("bob"), client("cem"))
    }
  }

  @Test("handing in does not take the scope to approve, and approving does")
  func scopes() async throws {
    try await withKeys { server, ada, _, cem in
      try await server.step("submit", "1.0", as: cem)
      for step in ["approve", "reject"] {
        let problem = try await server.problem { try await server.step(step, "1.0", as: cem) }
        #expect(problem.code == .forbidden)
        #expect(problem.detail == "the key cem lacks the scope review")
      }
      let record = try await server.step("approve", "1.0", as: ada)
      #expect(record.submittedBy == "cem")
      #expect(record.approvedBy == "ada")
    }
  }

  @Test("where two keys are asked for, who handed it in does not approve it, whatever its scopes")
  func secondKey() async throws {
    try await withKeys(options: ["--require-second-key"]) { server, ada, bob, _ in
      try await server.step("submit", "1.0", as: ada)
      let problem = try await server.problem { try await server.step("approve", "1.0", as: ada) }
      #expect(problem.code == .secondKeyRequired)
      #expect(problem.status == 403)
      #expect(
        problem.detail
          == "com.example.issue1 1.0 was handed in by the key ada; this server wants another key's approval")
      #expect(try await server.step("approve", "1.0", as: bob).approvedBy == "bob")
    }
  }

  @Test("without that option one key does all")
  func oneKey() async throws {
    try await withKeys { server, ada, _, _ in
      try await server.step("submit", "1.0", as: ada)
      #expect(try await server.step("approve", "1.0", as: ada).state == .approved)
    }
  }

  @Test("a rejection keeps its reason until the version is handed in again")
  func rejection() async throws {
    try await withKeys { server, ada, bob, _ in
      try await server.step("submit", "1.0", as: ada)
      let rejected = try await server.step(
        "reject", "1.0", ReasonBody(reason: "page 7 is upside down"), as: bob)
      #expect(rejected.state == .rejected)
      #expect(rejected.reason == "page 7 is upside down")
      #expect(try await server.step("submit", "1.0", as: ada).reason == nil)
      let entry = try #require(try await server.audit([("action", "version.reject")]).first)
      #expect(entry.actor == "bob")
      #expect(entry.detail == "page 7 is upside down")
    }
  }

  @Test(
    "a refused step says what is to be done in its place",
    arguments: [
      ("release", "com.example.issue1 1.0 is draft; submit and approve it before it is released"),
      ("approve", "com.example.issue1 1.0 is draft; submit it first"),
      ("withdraw", "com.example.issue1 1.0 is draft; only what was released can be withdrawn"),
    ])
  func sentences(step: String, sentence: String) async throws {
    try await withKeys { server, _, _, _ in
      let problem = try await server.problem { try await server.step(step, "1.0") }
      #expect(problem.code == .stateConflict)
      #expect(problem.detail == sentence)
    }
  }

  @Test("a version of another product, or of none, is told apart")
  func unknown() async throws {
    try await withKeys { server, _, _, _ in
      let version = try await server.problem { try await server.step("submit", "9.9") }
      #expect(version.code == .versionUnknown)
      let product = try await server.problem {
        try await server.step("submit", "1.0", of: "com.example.none")
      }
      #expect(product.code == .productUnknown)
    }
  }
}

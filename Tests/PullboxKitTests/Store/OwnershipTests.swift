import Commerce
import CoreTypes
import Entitlements
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Testing

@testable import PullboxKit
@testable import pullbox

@Suite("What this device knows of what is owned", .timeLimit(.minutes(1)))
struct OwnershipTests {
  /// An agent without a network: it knows what lies in its library, and what its license says.
  private struct Agent: AsyncHandler {
    /// An agent of an earlier version has no answer about ownership.
    var isEarlier = false

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      do {
        switch request.path {
        case "/v1/library": return answer(OwnershipTests.library)
        case "/v1/ownership" where !isEarlier: return answer(OwnershipTests.ownership)
        case "/v1/library/a/ownership" where !isEarlier: return answer(OwnershipTests.owned("a"))
        case "/v1/restore": return try refusal(.storeUnavailable)
        default: return try refusal(.notFound)
        }
      } catch {
        return HTTPResponse(status: .internalServerError)
      }
    }

    private func answer(_ text: String) -> HTTPResponse {
      HTTPResponse(
        status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(Array(text.utf8)))
    }

    private func refusal(_ code: ProblemCode) throws -> HTTPResponse {
      let problem = Problem(code)
      return HTTPResponse(
        status: problem.status == 503 ? .serviceUnavailable : .notFound,
        headers: ["Content-Type": "application/problem+json"], body: .bytes(try APIJSON.encode(problem)))
    }
  }

  private static func owned(_ product: String, reason: String? = nil) -> String {
    let state =
      reason.map { #""verification":"unverified","reason":"\#($0)""# } ?? #""verification":"verified""#
    return #"{"product":"\#(product)","owned":true,"because":"purchased",\#(state)}"#
  }

  private static let ownership = """
    {"products":[\(owned("a")),\(owned("b", reason: "license-expired")),
     {"product":"c","owned":false,"because":"revoked","verification":"verified"},
     {"product":"d","owned":false,"because":"period-over","verification":"verified"},
     {"product":"f","owned":true,"because":"subscribed","until":"2026-12-21T08:30:00.000Z",
      "heard":"2026-11-21T08:30:00.000Z","verification":"verified"}],
     "license":{"serial":"s","issued":"2026-11-21T08:30:00.000Z","expires":"2026-12-21T08:30:00.000Z"}}
    """

  private static func item(_ product: String, _ rest: String = "") -> String {
    """
    {"product":"\(product)","version":"1.0","path":"/library/\(product)/1.0",
     "digest":"\(String(repeating: "0", count: 64))","length":1,"placedAt":"2026-11-21T08:30:00.000Z"\(rest)}
    """
  }

  /// The last one was open until a time that has passed, as its license says.
  private static let library = """
    {"items":[\(item("a", #","owned":true"#)),\(item("b", #","owned":true"#)),
     \(item("c", #","owned":false,"withdrawn":true,"state":"offline""#)),\(item("d", #","owned":true"#)),\(item("e"))]}
    """

  private func withAgent(_ agent: Agent, _ body: (AgentClient) async throws -> Void) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    try await withServer(agent, at: .unix(path: path)) { _ in
      try await body(try AgentClient(socketPath: path))
    }
  }

  private func entitlements(_ agent: AgentClient) async throws -> [Transaction.Entitlement] {
    var found: [Transaction.Entitlement] = []
    for try await entitlement in Transaction.currentEntitlements(from: agent) { found.append(entitlement) }
    return found
  }

  @Test(
    "without a network what the license says is owned, what was taken back is not, and each says whether it is verified"
  )
  func offline() async throws {
    try await withAgent(Agent()) { agent in
      let found = try await entitlements(agent)
      #expect(found.map(\.product.description) == ["a", "b", "e", "f"])
      #expect(found.map(\.isVerified) == [true, false, false, true])
      // A subscription is in no library: what the license lists is owned all the same.
      let subscription = try #require(found.last)
      #expect(subscription.version == nil && subscription.because == "subscribed")
      #expect(subscription.until != nil && subscription.asOf != nil)
      #expect(found.first?.version == ContentVersion("1.0"))
      let product = try #require(ProductIdentifier("a"))
      let result = try await AppStore.ownership(of: product, from: agent)
      #expect(result.isVerified && result.reason == nil && result.value.owned)
      #expect(try await AppStore.license(from: agent)?.serial == "s")
    }
  }

  @Test("an agent of an earlier version is asked for its library alone")
  func earlier() async throws {
    try await withAgent(Agent(isEarlier: true)) { agent in
      let found = try await entitlements(agent)
      #expect(found.map(\.product.description) == ["a", "b", "d", "e"])
      #expect(found.allSatisfy { !$0.isVerified })
    }
  }

  @Test("an answer that is not verified says why, and is taken for what it says")
  func unverified() throws {
    let document = try APIJSON.decode(
      ProductOwnership.self, from: Array(Self.owned("b", reason: "no-license").utf8))
    #expect(VerificationResult(document) == .unverified(document, .noLicense))
  }

  @Test("the library tells what was taken back from what only the reader has left, and what was moved away")
  func states() throws {
    func state(_ rest: String) throws -> String {
      LibraryCommand.state(try APIJSON.decode(LibraryItem.self, from: Array(Self.item("a", rest).utf8)))
    }
    let present = #","state":"present""#
    #expect(try state(present) == "present")
    #expect(try state(present + #","rolledBack":true"#) == "taken back")
    #expect(try state(present + #","rolledBack":true,"left":true"#) == "left")
    #expect(
      try state(#","state":"offline","withdrawn":true,"owned":false,"because":"revoked""#)
        == "moved away, not owned")
  }
}

import Crypto
import DeliveryTesting
import HTTPClient
import Monitoring
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import DeliveryService

/// Each refusal is asked for at both doors: on the loop, and off the loops, where requests go whose query has more than the
/// ticket, or whose name is escaped.
@Suite("Refusals of content, at both doors")
struct ContentRefusalTests {
  private static let package = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  private static let origin = "https://shop.example"

  /// A request that a loop refuses itself, and how to ask the same off the loops.
  private struct Case {
    var code: ProblemCode
    var path: String
    var ticket: String?
    /// The path that spells the same with an escape; nil where another parameter sends the request off the loop.
    var escaped: String?
    var prepare: (ServerHarness) -> Void = { _ in }
  }

  private func cases(_ grant: GrantResponse, _ server: ServerHarness) throws -> [Case] {
    let (path, ticket) = (grant.download.contentURL, grant.download.ticket)
    var tampered = Array(ticket.utf8)
    tampered[30] = tampered[30] == 0x41 ? 0x42 : 0x41
    let handle = try server.handle(of: grant)
    let unknown = "/v1/content/" + String(repeating: "z", count: 64)
    let unknownEscaped = "/v1/content/%7A" + String(repeating: "z", count: 63)
    return [
      Case(code: .ticketMissing, path: path),
      Case(code: .ticketInvalid, path: path, ticket: "nonsense"),
      Case(code: .ticketInvalid, path: path, ticket: ""),
      Case(code: .ticketInvalid, path: path, ticket: String(decoding: tampered, as: UTF8.self)),
      Case(code: .ticketInvalid, path: "/v1/content/\(SHA256Digest.of([1]))", ticket: ticket),
      Case(code: .contentUnknown, path: unknown, escaped: unknownEscaped),
      Case(code: .contentUnknown, path: unknown, ticket: ticket, escaped: unknownEscaped),
      Case(
        code: .contentWithdrawn, path: path, ticket: ticket,
        prepare: { $0.server.revocations.block(content: grant.download.digest) }),
      Case(
        code: .entitlementRevoked, path: path, ticket: ticket,
        prepare: { $0.server.revocations.revoke(grant: handle) }),
      Case(
        code: .ticketExpired, path: path, ticket: ticket,
        prepare: { $0.clock.advance(by: .seconds(16 * 60)) }),
    ]
  }

  @Test(
    "every refusal has the same fields and the same document at both doors, for GET and HEAD",
    .enabled(if: !TestDatabase.isOnServer),
    arguments: [[], ["--cors-origin", origin]])
  func bothDoors(options: [String]) async throws {
    try await ServerHarness.run(options: options) { server in
      try await server.publish(Self.package)
      let grant = try await server.grantForPurchase()
      #expect(try await server.fetch(grant).status == 200)
      let before = inline(server)
      var asked = 0
      for test in try cases(grant, server) {
        test.prepare(server)
        for method in ["GET", "HEAD"] {
          let query = test.ticket.map { [("ticket", $0)] } ?? []
          let loop = try await ask(method, test.path, query, server)
          let deferred = try await ask(
            method, test.escaped ?? test.path, query + (test.escaped == nil ? [("door", "2")] : []), server)
          asked += 1
          for response in [loop, deferred] {
            #expect(response.status == test.code.status, "\(method) \(test.code.text)")
            let id = try #require(response.headers["X-Request-Id"])
            guard method == "GET" else { continue }
            let problem = try APIJSON.decode(Problem.self, from: response.body)
            #expect(problem.code == test.code)
            #expect(problem.instance == "urn:pullbox:request:\(id)")
            #expect(response.headers["Content-Length"] == String(response.body.count))
          }
          #expect(fields(loop) == fields(deferred), "\(method) \(test.code.text)")
          #expect(try document(loop) == document(deferred), "\(method) \(test.code.text)")
        }
      }
      #expect(inline(server) - before == asked)
    }
  }

  @Test("what the loops refuse is counted by its code, like what is refused off the loops")
  func counted() async throws {
    try await ServerHarness.run { server in
      try await server.publish(Self.package)
      let grant = try await server.grantForPurchase()
      for query in [[], [("door", "2")]] {
        #expect(try await ask("GET", grant.download.contentURL, query, server).status == 401)
      }
      let routes = server.server.metrics.routes
      #expect(routes.refusals[.init(route: ContentRoutes.pattern, code: "ticket-missing")] == 2)
      #expect(routes.requests[.init(route: ContentRoutes.pattern, status: 401)] == 2)
    }
  }

  /// Requests that the loops have answered.
  private func inline(_ server: ServerHarness) -> Int {
    server.server.metrics.routes.included.values.reduce(0, +)
  }

  private func ask(
    _ method: String, _ path: String, _ query: [(String, String)], _ server: ServerHarness
  ) async throws -> ClientResponse {
    try await server.client.send(
      ClientRequest(
        method: method, url: server.api.url(path, query: query), headers: [("Origin", Self.origin)]))
  }

  private func document(_ response: ClientResponse) throws -> Problem? {
    guard !response.body.isEmpty else { return nil }
    var problem = try APIJSON.decode(Problem.self, from: response.body)
    problem.instance = nil
    return problem
  }

  /// All fields but those of the moment and of the request, in one order.
  private func fields(_ response: ClientResponse) -> [String] {
    response.headers
      .filter { !["date", "connection", "x-request-id", "content-length"].contains($0.name.lowercased()) }
      .map { "\($0.name.lowercased()): \($0.value)" }.sorted()
  }
}

import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Testing

@testable import PullboxKit

@Suite("What readers tell the agent: places, open versions, the way back", .timeLimit(.minutes(1)))
struct LibraryLeaseTests {
  /// An agent that has one product, and holds leases until it is told to end them.
  private final class Agent: AsyncHandler {
    let requests = Locked<[String]>([])
    let (ends, end) = AsyncStream.makeStream(of: Never.self)
    let gone = AsyncStream.makeStream(of: Void.self)
    let item: LibraryItem

    init() throws {
      item = try APIJSON.decode(
        LibraryItem.self,
        from: Array(
          """
          {"product":"a","version":"1.0","path":"/library/a/1.0","digest":"\(String(repeating: "0", count: 64))",
           "length":1,"placedAt":"2026-11-21T08:30:00.000Z"}
          """.utf8))
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      do {
        let body = try await request.body.collect(upTo: .kibibytes(4))
        let name = request.path.split(separator: "/").last.map(String.init)
        guard name != "leases" else { return try lease(request, body) }
        requests.withLock {
          $0.append("\(request.method.rawValue) \(request.path) \(String(decoding: body, as: UTF8.self))")
        }
        guard name == "rollback" else {
          return try answer(ReadingResponse(version: item.version, pages: 3))
        }
        return try answer(LibraryResponse(items: [item]))
      } catch {
        return HTTPResponse(status: .internalServerError)
      }
    }

    private func answer(_ value: some Encodable, status: HTTPStatus = .ok) throws -> HTTPResponse {
      let type = status == .ok ? "application/json" : "application/problem+json"
      return HTTPResponse(
        status: status, headers: ["Content-Type": type], body: .bytes(try APIJSON.encode(value)))
    }

    private func lease(_ request: HTTPRequest, _ body: [UInt8]) throws -> HTTPResponse {
      guard request.path.hasPrefix("/v1/library/a/") else {
        return try answer(Problem(.libraryItemUnknown), status: .notFound)
      }
      let wanted = try APIJSON.decode(LibraryVersionRequest.self, from: body)
      requests.withLock { $0.append("lease \(wanted.version.map { "\($0)" } ?? "-")") }
      let line = try APIJSON.encode(item)
      return HTTPResponse(
        status: .ok, headers: ["Content-Type": LibraryItem.leaseMediaType],
        body: .stream { writer in
          defer { self.gone.continuation.yield() }
          try await writer.write(Array(line.prefix(7)))
          try await writer.write(Array(line.dropFirst(7)) + Array("\n\n".utf8))
          for await _ in self.ends {}
        })
    }
  }

  private func withAgent(
    _ agent: Agent, _ body: (AgentClient) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    try await withServer(agent, at: .unix(path: path)) { _ in
      try await body(try AgentClient(socketPath: path))
    }
  }

  private let product: ProductIdentifier

  init() throws {
    product = try #require(ProductIdentifier("a"))
  }

  @Test("a lease has its item, and its connection ends with it")
  func ended() async throws {
    let agent = try Agent()
    try await withAgent(agent) { client in
      let version = try #require(ContentVersion("1.0"))
      let lease = try await client.lease(product, version: version)
      #expect(lease.item == agent.item)
      lease.end()
      await lease.ended()
      for await _ in agent.gone.stream { break }
    }
    #expect(agent.requests.current == ["lease 1.0"])
  }

  @Test("a lease without a reference to it ends, and one is told of the agent's end")
  func dropped() async throws {
    let agent = try Agent()
    try await withAgent(agent) { client in
      _ = try await client.lease(product)
      for await _ in agent.gone.stream { break }
      let lease = try await client.lease(product)
      agent.end.finish()
      await lease.ended()
    }
    #expect(agent.requests.current == ["lease -", "lease -"])
  }

  @Test("a lease that is refused says why")
  func refused() async throws {
    let other = try #require(ProductIdentifier("b"))
    try await withAgent(try Agent()) { client in
      let error = await #expect(throws: APICallError.self) { _ = try await client.lease(other) }
      guard case .problem(let problem) = error else {
        throw APICallError.unexpectedResponse(status: 0, detail: "")
      }
      #expect(problem.code == .libraryItemUnknown)
    }
  }

  @Test("places are told and asked, and the way back is asked for, at the product's own addresses")
  func calls() async throws {
    let agent = try Agent()
    try await withAgent(agent) { client in
      #expect(try await client.reading(of: product).pages == 3)
      _ = try await client.report(ReadingReport(page: 2), of: product)
      #expect(try await client.goBack(product) == [agent.item])
    }
    #expect(
      agent.requests.current == [
        "GET /v1/library/a/progress ", #"PUT /v1/library/a/progress {"page":2}"#,
        "POST /v1/library/a/rollback {}",
      ])
  }
}

import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import DeliveryService
@testable import RouteAccess

@Suite("Pages of other sites")
struct CrossOriginTests {
  private static let shop = "https://shop.example"

  private func ask(
    _ server: ServerHarness, _ method: String, _ path: String, origin: String?,
    _ headers: [(String, String)] = []
  ) async throws -> ClientResponse {
    let origins = origin.map { [("Origin", $0)] } ?? []
    return try await server.client.send(
      ClientRequest(method: method, url: server.api.url(path), headers: origins + headers))
  }

  private func fields(_ response: ClientResponse) -> [String] {
    response.headers.map(\.name).filter { $0.lowercased().hasPrefix("access-control") }
  }

  @Test("a listed site's page may read public answers, refusals and content; others may not")
  func answers() async throws {
    try await ServerHarness.run(options: ["--cors-origin", Self.shop]) { server in
      try await server.publish([1, 2, 3])
      let grant = try await server.grantForPurchase()
      let content = "\(grant.download.contentURL)?ticket=\(grant.download.ticket)"
      for path in [
        "/v1/products", "/v1/products/unknown", "/nowhere", content, grant.download.contentURL,
        "/v1/content/\(grant.download.digest)/manifest",
      ] {
        let allowed = try await ask(server, "GET", path, origin: Self.shop)
        #expect(allowed.headers["Access-Control-Allow-Origin"] == Self.shop, "\(path)")
        #expect(allowed.headers["Access-Control-Expose-Headers"]?.contains("Retry-After") == true)
        #expect(allowed.headers["Access-Control-Allow-Credentials"] == nil)
        #expect(
          allowed.headers.values(of: "Vary").contains { $0.contains("Origin") }, "\(path)")
        let other = try await ask(server, "GET", path, origin: "https://evil.example")
        #expect(fields(other).isEmpty, "\(path)")
        #expect(other.headers.values(of: "Vary").contains { $0.contains("Origin") }, "\(path)")
        #expect(fields(try await ask(server, "GET", path, origin: nil)).isEmpty, "\(path)")
      }
      let range = try await ask(server, "GET", content, origin: Self.shop, [("Range", "bytes=0-1")])
      #expect(range.status == 206)
      #expect(range.headers["Access-Control-Allow-Origin"] == Self.shop)
      // The same from the loop, which knows the ticket by now.
      #expect(try await ask(server, "GET", content, origin: Self.shop).body == [1, 2, 3])
    }
  }

  @Test("a preflight is answered with the path's methods and the fields that were asked for")
  func preflight() async throws {
    try await ServerHarness.run(options: ["--cors-origin", Self.shop]) { server in
      let asks = [
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization,content-type"),
      ]
      let response = try await ask(server, "OPTIONS", "/v1/grants", origin: Self.shop, asks)
      #expect(response.status == 204)
      #expect(response.headers["Access-Control-Allow-Origin"] == Self.shop)
      #expect(response.headers["Access-Control-Allow-Methods"] == "POST")
      #expect(response.headers["Access-Control-Allow-Headers"] == "authorization,content-type")
      #expect(response.headers["Access-Control-Max-Age"] == "7200")
      let other = try await ask(server, "OPTIONS", "/v1/grants", origin: "https://evil.example", asks)
      #expect(other.status == 405)
      #expect(fields(other).isEmpty)
      #expect(try await ask(server, "OPTIONS", "/nowhere", origin: Self.shop, asks).status == 404)
    }
  }

  @Test("no page may call a route for operators, or read metrics")
  func operators() async throws {
    try await ServerHarness.run(options: ["--cors-origin", "*"]) { server in
      let asks = [("Access-Control-Request-Method", "GET")]
      for declaration in server.server.routeDeclarations where declaration.isManagement {
        let path = declaration.pattern.replacing("{id}", with: "a").replacing("{version}", with: "1")
          .replacing("{grant}", with: "a").replacing("{entry}", with: "1")
        let method = declaration.method.rawValue
        #expect(fields(try await ask(server, method, path, origin: Self.shop)).isEmpty, "\(path)")
        #expect(fields(try await ask(server, "OPTIONS", path, origin: Self.shop, asks)).isEmpty, "\(path)")
      }
      let open = try await ask(server, "GET", "/v1/products", origin: Self.shop)
      #expect(open.headers["Access-Control-Allow-Origin"] == "*")
    }
  }

  @Test("without the setting nothing is said about other sites")
  func none() async throws {
    try await ServerHarness.run { server in
      let response = try await ask(server, "GET", "/v1/products", origin: Self.shop)
      #expect(fields(response).isEmpty)
      #expect(!response.headers.values(of: "Vary").contains { $0.contains("Origin") })
    }
  }
}

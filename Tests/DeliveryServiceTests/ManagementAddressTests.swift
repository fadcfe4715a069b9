import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("An address of their own for operators and monitoring")
struct ManagementAddressTests {
  @Test("the public address does not know their routes, the other knows nothing else")
  func separation() async throws {
    try await ServerHarness.run(options: ["--management-listen", "127.0.0.1:0"]) { server in
      let address = try #require(server.server.managementAddresses.first)
      let management = APIClient(
        baseURL: "http://\(address)", credential: ServerHarness.operatorKey, client: server.client)
      for path in ["/metrics", "/v1/operator/products", "/v1/operator/uploads/a", "/v1/operator/nothing"] {
        let problem = try await server.problem { _ = try await server.operatorAPI.exchange("GET", path) }
        #expect(problem.code == .notFound, "\(path)")
      }
      #expect(try await management.exchange("GET", "/metrics").status == 200)
      let page: Page<OperatorProduct> = try await management.get("/v1/operator/products")
      #expect(page.items.isEmpty)
      let unauthorized = try await server.problem {
        _ = try await APIClient(baseURL: "http://\(address)", client: server.client)
          .exchange("GET", "/v1/operator/products")
      }
      #expect(unauthorized.code == .unauthorized)
      for path in ["/healthz", "/readyz"] {
        #expect(try await management.exchange("GET", path).status == 200)
        #expect(try await server.api.exchange("GET", path).status == 200)
      }
      for path in ["/v1/products", "/v1/content/a"] {
        let problem = try await server.problem { _ = try await management.exchange("GET", path) }
        #expect(problem.code == .notFound, "\(path)")
      }
      #expect(try await server.api.exchange("GET", "/v1/products").status == 200)
    }
  }

  @Test("it answers while the public address has as many connections as it may")
  func isolation() async throws {
    let options = ["--management-listen", "127.0.0.1:0", "--maximum-connections", "1"]
    try await ServerHarness.run(options: options) { server in
      // The harness's own connection is the one that is kept.
      #expect(try await server.api.exchange("GET", "/healthz").status == 200)
      let other = try HTTPClient()
      defer { other.shutDown() }
      let full = try await server.problem {
        _ = try await APIClient(baseURL: server.api.baseURL, client: other).exchange("GET", "/healthz")
      }
      #expect(full.status == 503)
      #expect((1...2).contains(full.retryAfterSeconds ?? 0))
      let address = try #require(server.server.managementAddresses.first)
      let metrics = try await APIClient(baseURL: "http://\(address)", client: other)
        .exchange("GET", "/metrics")
      #expect(metrics.status == 200)
    }
  }
}

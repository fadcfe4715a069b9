import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Testing

@testable import DeliveryService

@Suite("Malformed requests")
struct MalformedRequestTests {
  @Test("a request that cannot be parsed is refused with a problem document")
  func malformed() async throws {
    try await ServerHarness.run { server in
      let port = try #require(
        server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      let connection = try RawConnection.tcp(port: port)
      try await connection.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.head.status == 400)
      #expect(response.head["Content-Type"] == "application/problem+json")
    }
  }

  @Test("a request for an upload in two protocols is told so with an operator's key alone")
  func uploadInTwoProtocols() async throws {
    try await ServerHarness.run { server in
      let fields = [("Tus-Resumable", "1.0.0"), ("Upload-Complete", "?0")]
      let stranger = APIClient(baseURL: server.api.baseURL, client: server.client)
      for (method, path) in [
        ("POST", "/v1/operator/uploads"), ("PATCH", "/v1/operator/uploads/a"),
        ("GET", "/v1/operator/uploads/a"),
      ] {
        let refused = try await server.problem {
          _ = try await stranger.exchange(method, path, headers: fields)
        }
        #expect(refused.code == .unauthorized)
        let contradicted = try await server.problem {
          _ = try await server.operatorAPI.exchange(method, path, headers: fields)
        }
        #expect(contradicted.code == .requestMalformed)
      }
    }
  }
}

import PullboxAPI
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
}

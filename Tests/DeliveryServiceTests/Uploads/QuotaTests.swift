import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Testing

@testable import DeliveryService

@Suite("The operator's quota")
struct QuotaTests {
  private let options = ["--storage-quota", "1000kB", "--upload-lifetime", "100s"]
  private let type = [("Content-Type", "application/offset+octet-stream")]

  private func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }

  @Test(
    "an upload reserves its whole length when it is begun; what does not fit beside it is 507 before a byte")
  func reservations() async throws {
    try await ServerHarness.run(options: options) { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: 700_000)
      let refused = try await client.tus("POST", UploadClient.collection, [("Upload-Length", "300001")])
      #expect(refused.status == 507)
      #expect(try client.problem(refused) == .outOfSpace)
      _ = try await client.create(length: 300_000)
      #expect(try await client.tus("POST", UploadClient.collection, [("Upload-Length", "1")]).status == 507)
      #expect(try await client.patch(location, at: 0, bytes(700_000)).status == 204)
      _ = try await client.tus("DELETE", location)
      _ = try await client.create(length: 700_000)
    }
  }

  @Test("a deferred length, and bytes that come with the creation, are held to it as well")
  func deferred() async throws {
    try await ServerHarness.run(options: options) { server in
      let client = UploadClient(server: server)
      let created = try await client.tus("POST", UploadClient.collection, [("Upload-Defer-Length", "1")])
      let location = try #require(created.headers["Location"])
      #expect(try await client.patch(location, at: 0, bytes(600_000)).status == 204)
      #expect(try await client.patch(location, at: 600_000, bytes(400_001)).status == 507)
      #expect(
        try await client.patch(location, at: 600_000, bytes(1), [("Upload-Length", "1000001")]).status == 507)
      #expect(try await client.offset(location) == "600000")
      let together = try await client.tus(
        "POST", UploadClient.collection, type + [("Upload-Defer-Length", "1")], bytes(400_001))
      #expect(together.status == 507)
      #expect(try await client.patch(location, at: 600_000, bytes(400_000)).status == 204)
    }
  }

  @Test("a body of unknown length is stopped where the quota ends, and what came before is kept")
  func chunked() async throws {
    try await ServerHarness.run(options: options) { server in
      let client = UploadClient(server: server)
      let created = try await client.tus("POST", UploadClient.collection, [("Upload-Defer-Length", "1")])
      let location = try #require(created.headers["Location"])
      _ = try await client.create(length: 900_000)
      let connection = try client.connect()
      try await connection.send(
        client.head(
          "PATCH", location,
          [
            "Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream",
            "Transfer-Encoding: chunked",
          ]))
      try await connection.send("C350\r\n")
      try await connection.send(bytes(50_000))
      try await connection.send("\r\nC351\r\n")
      try await connection.send(bytes(50_001))
      try await connection.send("\r\n0\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 507)
      let offset = try #require(try await client.offset(location).flatMap { Int($0) })
      #expect((0...100_000).contains(offset))
      let rest = try await client.patch(location, at: offset, bytes(100_000 - offset))
      #expect(rest.status == 204)
    }
  }

  @Test("packages count, and an expired upload makes room") func stored() async throws {
    try await ServerHarness.run(options: options) { server in
      let client = UploadClient(server: server)
      try await server.publish(bytes(600_000))
      #expect(
        try await client.tus("POST", UploadClient.collection, [("Upload-Length", "400001")]).status == 507)
      _ = try await client.create(length: 400_000)
      #expect(try await client.tus("POST", UploadClient.collection, [("Upload-Length", "1")]).status == 507)
      server.clock.advance(by: .seconds(100))
      _ = try await client.create(length: 400_000)
    }
  }
}

import CoreTypes
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryService

/// These need a database that several servers can share and an object store: `PULLBOX_TEST_DATABASE` and `PULLBOX_TEST_S3_ENDPOINT`.
@Suite(
  "Uploads at several nodes", .enabled(if: TestDatabase.isOnServer && StoreUnderTest.present != nil),
  .timeLimit(.minutes(2)))
struct SharedUploadNodeTests {
  private let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }

  private func withNodes(_ body: (ServerHarness, ServerHarness) async throws -> Void) async throws {
    let store = try #require(StoreUnderTest.present).fresh()
    let options =
      [
        "--packages", store.location, "--s3-endpoint", store.endpoint, "--s3-access-key-file", store.keyFile,
      ] + (store.region.map { ["--s3-region", $0] } ?? [])
    try await ServerHarness.runNodes(options: options, body)
  }

  @Test("an upload that was begun at one node goes on at the other, and the first makes the version")
  func goesOn() async throws {
    try await withNodes { first, second in
      let (here, there) = (UploadClient(server: first), UploadClient(server: second))
      let location = try await here.create(length: bytes.count)
      #expect(try await here.patch(location, at: 0, Array(bytes[..<1_000_000])).status == 204)
      #expect(try await there.offset(location) == "1000000")
      #expect(try await there.patch(location, at: 1_000_000, Array(bytes[1_000_000...])).status == 204)
      #expect(try await here.offset(location) == String(bytes.count))
      let record = try await first.submit(upload: location, as: "com.example.issue1")
      #expect(record.length == ByteCount(bytes.count))
      for step in ["submit", "approve", "release"] {
        _ = try await second.operatorAPI.call(
          "POST", "/v1/operator/products/com.example.issue1/versions/1.0/\(step)", body: ReasonBody(),
          as: VersionRecord.self)
      }
      let grant = try await first.grantForPurchase()
      #expect(try await second.fetch(grant).body == bytes)
    }
  }

  @Test("a request at one node ends the one that receives at the other, whose client is told")
  func taken() async throws {
    try await withNodes { first, second in
      let (here, there) = (UploadClient(server: first), UploadClient(server: second))
      let location = try await here.create(length: bytes.count)
      let connection = try here.connect()
      let head = here.head(
        "PATCH", location,
        [
          "Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream",
          "Content-Length: \(bytes.count)",
        ])
      try await connection.send(Array(head.utf8) + bytes[..<500_000])
      // The other node asks until one of its questions comes while the request receives.
      let answer = try await withThrowingTaskGroup(of: String?.self) { group in
        group.addTask { try await connection.receive(through: "\r\n\r\n") }
        group.addTask {
          while !Task.isCancelled { _ = try await there.offset(location) }
          return nil
        }
        let answer = try await group.next() ?? nil
        group.cancelAll()
        return answer ?? ""
      }
      #expect(answer.hasPrefix("HTTP/1.1 423 "), "\(answer)")
      #expect(try await there.offset(location) == "0")
      #expect(try await there.patch(location, at: 0, bytes).status == 204)
      #expect(try await here.offset(location) == String(bytes.count))
    }
  }
}

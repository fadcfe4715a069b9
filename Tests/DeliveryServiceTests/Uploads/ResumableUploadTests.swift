import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("draft-ietf-httpbis-resumable-upload")
struct ResumableUploadTests {
  private static let package = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
  private let package = Self.package
  private let partial = ("Content-Type", "application/partial-upload")

  private func digest(_ name: String, _ bytes: some Collection<UInt8>) -> (String, String) {
    (name, "sha-256=:\(Base64.encode(Checksum.of(bytes, .sha256).bytes)):")
  }

  /// The end of a problem document's `type`.
  private func type(_ response: ClientResponse) -> String? {
    struct Document: Decodable { var type: String }
    return (try? APIJSON.decode(Document.self, from: response.body))?.type.split { "#:".contains($0) }.last
      .map(
        String.init)
  }

  @Test("a whole file in one request is an upload that a version is made of")
  func whole() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let answer = try await client.resumable(
        "POST", UploadClient.collection,
        [("Upload-Complete", "?1"), ("Content-Disposition", "attachment; filename=\"a.cbz\"")], package)
      #expect(answer.status == 201)
      #expect(answer.headers["Upload-Complete"] == "?1")
      let location = try #require(answer.headers["Location"])
      let record = try APIJSON.decode(UploadRecord.self, from: answer.body)
      #expect(location.hasSuffix(record.upload))
      #expect(record.name == "a.cbz")
      #expect(try await server.submit(upload: location, as: "com.example.a").digest == .of(package))
    }
  }

  @Test("parts follow one another; the upload is complete when a request says so, and not before")
  func parts() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.resumable(
        "POST", UploadClient.collection, [("Upload-Complete", "?0"), ("Upload-Length", "100000")],
        Array(package[..<30_000]))
      #expect(created.status == 201)
      #expect(created.headers["Upload-Complete"] == "?0")
      #expect(created.headers["Upload-Limit"] == "max-size=2147483648, min-size=0, max-age=86400")
      let location = try #require(created.headers["Location"])
      let second = try await client.resumable(
        "PATCH", location, [("Upload-Complete", "?0"), ("Upload-Offset", "30000"), partial],
        Array(package[30_000...]))
      #expect(second.status == 204)
      #expect(second.headers["Upload-Complete"] == "?0")
      let head = try await client.resumable("HEAD", location)
      #expect(head.status == 204)
      #expect(head.headers["Upload-Offset"] == "100000")
      #expect(head.headers["Upload-Length"] == "100000")
      #expect(head.headers["Upload-Complete"] == "?0")
      #expect(head.headers["Cache-Control"] == "no-store")
      let early = try await server.problem {
        _ = try await server.submit(upload: location, as: "com.example.a")
      }
      #expect(early.code == .uploadIncomplete)
      for _ in 0..<2 {
        let end = try await client.resumable(
          "PATCH", location, [("Upload-Complete", "?1"), ("Upload-Offset", "100000"), partial], [])
        #expect(end.status == 201)
        #expect(end.headers["Upload-Complete"] == "?1")
      }
      #expect(try await client.resumable("HEAD", location).headers["Upload-Complete"] == "?1")
      #expect(try await server.submit(upload: location, as: "com.example.a").digest == .of(package))
    }
  }

  @Test(
    "104 tells the address before the content, to a client that speaks this version alone",
    arguments: ["8", "7", ""])
  func interim(version: String) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let connection = try client.connect()
      let lines = version.isEmpty ? [] : ["Upload-Draft-Interop-Version: \(version)"]
      try await connection.send(
        client.head("POST", UploadClient.collection, lines + ["Upload-Complete: ?1", "Content-Length: 3"]))
      var location: String?
      if version == "8" {
        let interim = try await connection.receiveResponse()
        #expect(interim.status == 104)
        #expect(interim["Upload-Draft-Interop-Version"] == "8")
        #expect(interim["Upload-Limit"]?.contains("max-size=2147483648") == true)
        location = interim["Location"]
        #expect(location?.hasPrefix(UploadClient.collection) == true)
      }
      try await connection.send([1, 2, 3])
      let final = try await connection.receiveResponse()
      #expect(final.status == 201)
      if let location { #expect(final["Location"] == location) }
    }
  }

  @Test(
    "further 104s tell after every 16 MiB how much is safe, without an address, and never of bytes to be checked"
  )
  func progress() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.resumable(
        "POST", UploadClient.collection, [("Upload-Complete", "?0")], [1, 2, 3])
      let location = try #require(created.headers["Location"])
      let connection = try client.connect()
      let content = [UInt8](repeating: 7, count: 20 << 20)
      let lines = [
        "Upload-Draft-Interop-Version: 8", "Upload-Complete: ?0", "Content-Type: application/partial-upload",
      ]
      try await connection.send(
        client.head(
          "PATCH", location, lines + ["Upload-Offset: 3", "Content-Length: \(content.count)"]))
      // Held back until the news is there: it comes while the request is still sent.
      try await connection.send(Array(content[..<(17 << 20)]))
      let interim = try await connection.receiveResponse()
      #expect(interim.status == 104)
      #expect(interim["Upload-Draft-Interop-Version"] == "8")
      #expect(interim["Location"] == nil)
      let offset = try #require(interim["Upload-Offset"].flatMap { Int($0) })
      #expect((3 + (16 << 20)...3 + (17 << 20)).contains(offset))
      try await connection.send(Array(content[(17 << 20)...]))
      let final = try await connection.receiveResponse()
      #expect(final.status == 204)
      #expect(final["Upload-Offset"] == String(3 + content.count))

      let digest = Base64.encode(SHA256Digest.of(content).array)
      try await connection.send(
        client.head(
          "PATCH", location,
          lines + [
            "Upload-Offset: \(3 + content.count)", "Content-Length: \(content.count)",
            "Content-Digest: sha-256=:\(digest):",
          ]))
      try await connection.send(content)
      #expect(try await connection.receiveResponse().status == 204)
    }
  }

  @Test("a wrong offset is 409 with the right one; a wrong type is 415; a missing field is 400")
  func refusals() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.resumable(
        "POST", UploadClient.collection, [("Upload-Complete", "?0")], [1, 2, 3])
      let location = try #require(created.headers["Location"])
      func patch(_ headers: [(String, String)]) async throws -> ClientResponse {
        try await client.resumable("PATCH", location, headers, [4])
      }
      let offset = try await patch([("Upload-Complete", "?0"), ("Upload-Offset", "2"), partial])
      #expect(offset.status == 409)
      #expect(offset.headers["Upload-Offset"] == "3")
      #expect(offset.headers["Upload-Complete"] == "?0")
      #expect(type(offset) == "mismatching-upload-offset")
      #expect(offset.headers["Content-Type"] == "application/problem+json")
      #expect(
        try await patch([("Upload-Complete", "?0"), ("Upload-Offset", "3"), ("Content-Type", "text/plain")])
          .status == 415)
      #expect(try await patch([("Upload-Offset", "3"), partial]).status == 400)
      #expect(try await patch([("Upload-Complete", "1"), ("Upload-Offset", "3"), partial]).status == 400)
      #expect(try await patch([("Upload-Complete", "?0"), ("Upload-Offset", "-3"), partial]).status == 400)
      let length = try await patch(
        [("Upload-Complete", "?1"), ("Upload-Offset", "3"), ("Upload-Length", "9"), partial])
      #expect(length.status == 400)
      #expect(type(length) == "inconsistent-upload-length")
      #expect(try await client.resumable("HEAD", location).headers["Upload-Offset"] == "3")
    }
  }

  @Test("an upload can be cancelled, and the limits can be asked for")
  func cancellation() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.resumable(
        "POST", UploadClient.collection, [("Upload-Complete", "?0")], [1])
      let location = try #require(created.headers["Location"])
      #expect(try await client.send("DELETE", location).status == 204)
      #expect(try await client.send("HEAD", location).status == 404)
      let options = try await client.send("OPTIONS")
      #expect(options.headers["Upload-Limit"] == "max-size=2147483648, min-size=0, max-age=86400")
      #expect(options.headers["Accept-Patch"]?.contains("application/partial-upload") == true)
    }
  }

  @Test("content that its digest contradicts is not added; a whole that contradicts its own is given up")
  func digests() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.resumable(
        "POST", UploadClient.collection,
        [("Upload-Complete", "?0"), digest("Repr-Digest", package), digest("Content-Digest", [1])], [1])
      let location = try #require(created.headers["Location"])
      let wrong = try await client.resumable(
        "PATCH", location,
        [("Upload-Complete", "?0"), ("Upload-Offset", "1"), partial, digest("Content-Digest", [1])], [2])
      #expect(wrong.status == 400)
      #expect(type(wrong) == "checksum-mismatch")
      #expect(try await client.resumable("HEAD", location).headers["Upload-Offset"] == "1")
      let end = try await client.resumable(
        "PATCH", location, [("Upload-Complete", "?1"), ("Upload-Offset", "1"), partial], [2])
      #expect(end.status == 400)
      #expect(type(end) == "digest-mismatch")
      #expect(end.headers["Upload-Complete"] == "?1")
      #expect(try await client.resumable("HEAD", location).status == 404)
      let right = try await client.resumable(
        "POST", UploadClient.collection, [("Upload-Complete", "?1"), digest("Repr-Digest", package)], package)
      #expect(right.status == 201)
    }
  }

  @Test("bytes beyond the length end the upload")
  func exceeds() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.resumable(
        "POST", UploadClient.collection, [("Upload-Complete", "?0"), ("Upload-Length", "2")], [1])
      let location = try #require(created.headers["Location"])
      let beyond = try await client.resumable(
        "PATCH", location, [("Upload-Complete", "?0"), ("Upload-Offset", "1"), partial], [2, 3])
      #expect(beyond.status == 400)
      #expect(try await client.resumable("HEAD", location).status == 404)
    }
  }

  @Test(
    "bytes beyond the length end the upload, however they are framed and cut, and whether or not the request ends it",
    arguments: [[150], [100, 50], [60, 60], [Int](repeating: 1, count: 150)], ["?0", "?1"])
  func exceedsInChunks(chunks: [Int], complete: String) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.resumable(
        "POST", UploadClient.collection, [("Upload-Complete", "?0"), ("Upload-Length", "100")], [])
      let location = try #require(created.headers["Location"])
      let connection = try client.connect()
      let body = chunks.map { String($0, radix: 16) + "\r\n" + String(repeating: "a", count: $0) + "\r\n" }
      try await connection.send(
        client.head(
          "PATCH", location,
          [
            "Upload-Complete: \(complete)", "Upload-Offset: 0", "Content-Type: application/partial-upload",
            "Transfer-Encoding: chunked",
          ]) + body.joined() + "0\r\n\r\n")
      let beyond = try await connection.receiveResponse()
      #expect(beyond.status == 400)
      #expect(beyond["Upload-Complete"] == "?0")
      #expect(beyond.text.contains("#inconsistent-upload-length"))
      #expect(try await client.resumable("HEAD", location).status == 404)
      let more = try await client.resumable(
        "PATCH", location, [("Upload-Complete", "?1"), ("Upload-Offset", "0"), partial], [1])
      #expect(more.status == 404)
    }
  }

  @Test("a creation that brings more than the length it names leaves no upload")
  func creationExceeds() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let connection = try client.connect()
      try await connection.send(
        client.head(
          "POST", UploadClient.collection,
          ["Upload-Complete: ?0", "Upload-Length: 3", "Transfer-Encoding: chunked"])
          + "4\r\nabcd\r\n0\r\n\r\n")
      let answer = try await connection.receiveResponse()
      #expect(answer.status == 400)
      #expect(answer.text.contains("#inconsistent-upload-length"))
      #expect(try await client.list().isEmpty)
    }
  }

  @Test("a newer request ends the one before it, whose bytes stay", arguments: ["HEAD", "PATCH", "DELETE"])
  func insists(method: String) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: package.count)
      let connection = try client.connect()
      try await connection.send(
        client.head(
          "PATCH", location,
          [
            "Upload-Draft-Interop-Version: 8", "Upload-Offset: 0", "Upload-Complete: ?0",
            "Content-Type: application/partial-upload", "Content-Length: \(package.count)",
          ]))
      try await connection.send(Array(package[..<40_000]))
      try await client.wait(for: 40_000, in: location)
      switch method {
      case "HEAD":
        let head = try await client.resumable("HEAD", location)
        #expect(head.headers["Upload-Offset"] == "40000")
      case "PATCH":
        let rest = try await client.resumable(
          "PATCH", location, [("Upload-Offset", "40000"), ("Upload-Complete", "?1"), partial],
          Array(package[40_000...]))
        #expect(rest.status == 201)
        #expect(try await server.submit(upload: location, as: "com.example.a").digest == .of(package))
      default:
        #expect(try await client.resumable("DELETE", location).status == 204)
        #expect(try await client.resumable("HEAD", location).status == 404)
      }
      #expect(try await connection.receiveResponse().status == 423)
    }
  }

  @Test("an upload begun at one door is continued at the other, and ends at either")
  func bothDoors() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.resumable(
        "POST", UploadClient.collection, [("Upload-Complete", "?0"), ("Upload-Length", "100000")],
        Array(package[..<10]))
      let location = try #require(created.headers["Location"])
      #expect(try await client.offset(location) == "10")
      #expect(try await client.patch(location, at: 10, Array(package[10..<500])).status == 204)
      #expect(try await client.resumable("HEAD", location).headers["Upload-Offset"] == "500")
      #expect(try await client.patch(location, at: 500, Array(package[500...])).status == 204)
      #expect(try await client.resumable("HEAD", location).headers["Upload-Complete"] == "?1")
      #expect(try await server.submit(upload: location, as: "com.example.a").digest == .of(package))
    }
  }
}

import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliverySchema
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryRecords
@testable import DeliveryService

@Suite("tus 1.0.0")
struct TusTests {
  private static let package = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
  private let package = Self.package

  private func checksum(_ name: String, _ algorithm: ChecksumAlgorithm, _ bytes: some Collection<UInt8>)
    -> [(String, String)]
  {
    [("Upload-Checksum", "\(name) \(Base64.encode(Checksum.of(bytes, algorithm).bytes))")]
  }

  @Test(
    "OPTIONS tells the version, the extensions, the limit and the checksums, whatever version is asked with")
  func discovery() async throws {
    try await ServerHarness.run { server in
      let options = try await UploadClient(server: server).send(
        "OPTIONS", UploadClient.collection, [("Tus-Resumable", "0.1")])
      #expect(options.status == 204)
      #expect(options.headers["Tus-Version"] == "1.0.0")
      #expect(
        options.headers["Tus-Extension"]
          == "creation,creation-with-upload,creation-defer-length,checksum,expiration,termination")
      #expect(options.headers["Tus-Max-Size"] == "2147483648")
      #expect(options.headers["Tus-Checksum-Algorithm"] == "sha1,sha256")
    }
  }

  @Test(
    "a request with the fields of both protocols is of neither", arguments: ["POST", "HEAD", "PATCH", "GET"])
  func bothProtocols(method: String) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = method == "POST" ? UploadClient.collection : try await client.create(length: 4)
      for value in ["?1", "?0", "gP"] {
        let answer = try await client.tus(
          method, location,
          [
            ("Upload-Length", "4"), ("Upload-Offset", "0"), ("Upload-Complete", value),
            ("Content-Type", "application/offset+octet-stream"),
          ])
        #expect(answer.status == 400)
      }
      if method != "POST" { #expect(try await client.offset(location) == "0") }
    }
  }

  @Test(
    "bytes with the right checksum are kept",
    arguments: [("sha1", ChecksumAlgorithm.sha1), ("sha256", .sha256)])
  func rightChecksum(name: String, algorithm: ChecksumAlgorithm) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: package.count)
      let answer = try await client.patch(location, at: 0, package, checksum(name, algorithm, package))
      #expect(answer.status == 204)
      #expect(answer.headers["Upload-Offset"] == "100000")
    }
  }

  @Test("bytes with a wrong checksum are not: 460, and the offset stays; the right ones may follow")
  func wrongChecksum() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: package.count)
      _ = try await client.patch(location, at: 0, Array(package[..<1000]))
      let rest = Array(package[1000...])
      let answer = try await client.patch(location, at: 1000, rest, checksum("sha256", .sha256, package))
      #expect(answer.status == 460)
      #expect(try client.problem(answer) == .checksumMismatch)
      #expect(try await client.offset(location) == "1000")
      let again = try await client.patch(location, at: 1000, rest, checksum("sha1", .sha1, rest))
      #expect(again.status == 204)
      #expect(try await client.offset(location) == "100000")
    }
  }

  @Test(
    "an unknown algorithm, or no digest of its length, is 400 and changes nothing",
    arguments: [
      ("md5 1B2M2Y8AsgTpgAmY7PhCfg==", ProblemCode.checksumUnsupported), ("sha256", .requestMalformed),
      ("sha256 AAAA", .requestMalformed), ("sha1 not*base64", .requestMalformed),
    ])
  func badChecksum(field: String, code: ProblemCode) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: 3)
      let answer = try await client.patch(location, at: 0, [1, 2, 3], [("Upload-Checksum", field)])
      #expect(answer.status == 400)
      #expect(try client.problem(answer) == code)
      #expect(try await client.offset(location) == "0")
    }
  }

  @Test("a connection that breaks before the end of checked bytes leaves none of them")
  func brokenCheck() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: package.count)
      let (name, value) = checksum("sha256", .sha256, package)[0]
      let connection = try client.connect()
      try await connection.send(
        client.head(
          "PATCH", location,
          [
            "Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream",
            "Content-Length: \(package.count)", "\(name): \(value)",
          ]))
      try await connection.send(Array(package[..<5000]))
      try await client.wait(for: 5000, in: location)
      connection.reset()
      try await client.wait(for: 0, in: location)
      var offset = try await client.offset(location)
      while offset == nil { offset = try await client.offset(location) }
      #expect(offset == "0")
    }
  }

  @Test("an upload says when it expires; every addition moves that; afterwards it is 410")
  func expiration() async throws {
    try await ServerHarness.run(options: ["--upload-lifetime", "100s"]) { server in
      let client = UploadClient(server: server)
      let created = try await client.tus("POST", UploadClient.collection, [("Upload-Length", "10")])
      let location = try #require(created.headers["Location"])
      let first = try #require(created.headers["Upload-Expires"])
      server.clock.advance(by: .seconds(99))
      let added = try await client.patch(location, at: 0, [1, 2, 3])
      #expect(added.status == 204)
      let second = try #require(added.headers["Upload-Expires"])
      #expect(first != second && first.hasSuffix("GMT") && second.hasSuffix("GMT"))
      server.clock.advance(by: .seconds(99))
      #expect(try await client.offset(location) == "3")
      server.clock.advance(by: .seconds(1))
      let gone = try await client.tus("HEAD", location)
      #expect(gone.status == 410)
      #expect(gone.headers["Upload-Offset"] == nil)
      let refused = try await client.patch(location, at: 3, [1])
      #expect(refused.status == 410)
      #expect(try client.problem(refused) == .uploadExpired)
    }
  }

  @Test("X-HTTP-Method-Override counts in place of the method")
  func methodOverride() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: 3)
      let patched = try await client.tus(
        "POST", location,
        [
          ("X-HTTP-Method-Override", "PATCH"), ("Upload-Offset", "0"),
          ("Content-Type", "application/offset+octet-stream"),
        ], [1, 2, 3])
      #expect(patched.status == 204)
      #expect(patched.headers["Upload-Offset"] == "3")
      #expect(try await client.tus("POST", location, [("X-HTTP-Method-Override", "DELETE")]).status == 204)
      #expect(try await client.tus("HEAD", location).status == 404)
      let nonsense = try await client.tus("POST", location, [("X-HTTP-Method-Override", "TRACE")])
      #expect(nonsense.status == 501)
      let wrong = try await client.tus("POST", location, [("X-HTTP-Method-Override", "PUT")])
      #expect(wrong.status == 405)
      #expect(wrong.headers["Allow"] == "DELETE, GET, HEAD, OPTIONS, PATCH")
      #expect(wrong.headers["Tus-Resumable"] == "1.0.0")
      #expect(nonsense.headers["Tus-Resumable"] == "1.0.0")
    }
  }

  @Test(
    "a request about an upload ends the one that a vanished client left open, whose bytes stay",
    arguments: ["HEAD", "PATCH", "DELETE"])
  func vanished(method: String) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: package.count)
      // Neither the rest of the body nor an end of the connection ever comes.
      let connection = try client.connect()
      try await connection.send(
        client.head(
          "PATCH", location,
          [
            "Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream",
            "Content-Length: \(package.count)",
          ]))
      try await connection.send(Array(package[..<40_000]))
      try await client.wait(for: 40_000, in: location)
      switch method {
      case "HEAD":
        let head = try await client.tus("HEAD", location)
        #expect(head.status == 200)
        #expect(head.headers["Upload-Offset"] == "40000")
      case "PATCH":
        #expect(try await client.patch(location, at: 40_000, Array(package[40_000...])).status == 204)
        #expect(try await server.submit(upload: location, as: "com.example.a").digest == .of(package))
      default:
        #expect(try await client.tus("DELETE", location).status == 204)
        #expect(try await client.tus("HEAD", location).status == 404)
      }
      let ended = try await connection.receiveResponse()
      #expect(ended.status == 423)
      #expect(ended["Tus-Resumable"] == "1.0.0")
    }
  }

  @Test(
    "a field that occurs twice is refused, equal or not, and nothing is changed",
    arguments: [
      ("Upload-Offset", "0", "0"), ("Upload-Offset", "0", "1"), ("Upload-Length", "3", "3"),
      ("Upload-Checksum", "sha1 cDeAcZjCKn0rCAc3HXY3eahP388=", "sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA="),
      ("Upload-Checksum", "sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "sha1 cDeAcZjCKn0rCAc3HXY3eahP388="),
      ("Content-Type", "application/offset+octet-stream", "application/offset+octet-stream"),
      ("X-HTTP-Method-Override", "PATCH", "DELETE"),
    ])
  func twice(name: String, first: String, second: String) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: 3)
      var headers = [("Upload-Offset", "0"), ("Content-Type", "application/offset+octet-stream")]
      headers.removeAll { $0.0 == name }
      let answer = try await client.tus(
        "PATCH", location, headers + [(name, first), (name, second)], [1, 2, 3])
      #expect(answer.status == 400)
      #expect(try client.problem(answer) == .requestMalformed)
      #expect(try await client.offset(location) == "0")
    }
  }

  @Test(
    "a creation with a field twice makes nothing",
    arguments: [
      ("Upload-Length", "10", "20"), ("Upload-Metadata", "a YQ==", "b Yg=="),
      ("Upload-Defer-Length", "1", "1"),
    ])
  func twiceAtCreation(name: String, first: String, second: String) async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let length = name == "Upload-Metadata" ? [("Upload-Length", "3")] : []
      let answer = try await client.tus(
        "POST", UploadClient.collection, length + [(name, first), (name, second)])
      #expect(answer.status == 400)
      #expect(try await client.list().isEmpty)
    }
  }

  @Test(
    "metadata with a key that is empty, not ASCII or there twice, or with an empty element, is refused",
    arguments: [",", "a YQ==,", ",a YQ==", "a YQ==,,b Yg==", "a YQ==, ,b", "a YQ==,a Yg==", "a b c", "a !"])
  func metadata(field: String) async throws {
    #expect(UploadMetadata(field) == nil)
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let answer = try await client.tus(
        "POST", UploadClient.collection, [("Upload-Length", "3"), ("Upload-Metadata", field)])
      #expect(answer.status == 400)
      #expect(try await client.list().isEmpty)
    }
  }

  @Test("what a server left of a creation when it ended, the next one forgets; what it told a client stays")
  func unaddressed() async throws {
    let directory = try TemporaryDirectory()
    var location = ""
    try await ServerHarness.run(in: directory) { server in
      let client = UploadClient(server: server)
      location = try await client.create(length: 10)
      _ = try await client.resumable("POST", UploadClient.collection, [("Upload-Complete", "?0")], [1])
      _ = try await client.tus(
        "POST", UploadClient.collection,
        [("Upload-Length", "3"), ("Content-Type", "application/offset+octet-stream")], [1])
      #expect(try await client.list().count == 3)
    }
    let database = try Database.open(path: directory.path("state/server.db"), migrations: Migrations.all)
    var lost = Upload(
      NewUpload(length: ByteCount(5), isAddressed: false), owner: "o", at: ServerHarness.start)
    lost.id = "lost"
    let row = lost
    try await database.write(locking: [.everything]) { try UploadTable.insert(row, in: $0) }
    database.close()
    try await ServerHarness.run(in: directory) { server in
      let client = UploadClient(server: server)
      let left = try await client.list()
      #expect(left.count == 3)
      #expect(!left.contains { $0.upload == "lost" })
      #expect(try await client.offset(location) == "0")
    }
  }

  @Test("a creation whose bytes break off leaves no upload: its client was not told the address")
  func brokenCreation() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let connection = try client.connect()
      try await connection.send(
        client.head(
          "POST", UploadClient.collection,
          [
            "Tus-Resumable: 1.0.0", "Upload-Length: \(package.count)",
            "Content-Type: application/offset+octet-stream", "Content-Length: \(package.count)",
          ]))
      try await connection.send(Array(package[..<5000]))
      while try await client.list().first?.offset != ByteCount(5000) { await Task.yield() }
      connection.reset()
      for _ in 0..<2000 where try await !client.list().isEmpty { await Task.yield() }
      #expect(try await client.list().isEmpty)
    }
  }

  @Test("with a deferred length the length comes later, once")
  func deferred() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let created = try await client.tus("POST", UploadClient.collection, [("Upload-Defer-Length", "1")])
      let location = try #require(created.headers["Location"])
      _ = try await client.patch(location, at: 0, [1, 2])
      #expect(try await client.tus("HEAD", location).headers["Upload-Defer-Length"] == "1")
      _ = try await client.patch(location, at: 2, [3], [("Upload-Length", "5")])
      let other = try await client.patch(location, at: 3, [4], [("Upload-Length", "6")])
      #expect(other.status == 400)
      let head = try await client.tus("HEAD", location)
      #expect(head.headers["Upload-Length"] == "5")
      #expect(head.headers["Upload-Defer-Length"] == nil)
      #expect(try await client.patch(location, at: 3, [4, 5]).status == 204)
    }
  }

  @Test("what is created with a wrong checksum or too many bytes is not there afterwards")
  func creationFails() async throws {
    try await ServerHarness.run { server in
      let client = UploadClient(server: server)
      let type = [("Content-Type", "application/offset+octet-stream")]
      let wrong = try await client.tus(
        "POST", UploadClient.collection,
        type + [("Upload-Length", "3")] + checksum("sha1", .sha1, [9]), [1, 2, 3])
      #expect(wrong.status == 460)
      let tooMany = try await client.tus(
        "POST", UploadClient.collection, type + [("Upload-Length", "2")], [1, 2, 3])
      #expect(tooMany.status == 413)
      let page = try await server.operatorAPI.get(UploadClient.collection, as: Page<UploadRecord>.self)
      #expect(page.items.isEmpty)
    }
  }
}

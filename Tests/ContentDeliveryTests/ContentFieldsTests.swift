import Crypto
import HTTPServer
import PullboxAPI
import Testing

@testable import ContentDelivery

/// RFC 9110 §15.3.7, §15.4.5, §15.5.13 and §15.5.17; RFC 9111 §3; RFC 9530 §3 and §4.
@Suite("The fields and the bytes of content")
struct ContentFieldsTests {
  private typealias Fields = [(name: String, value: String)]

  /// The fields that 200, 206 and 304 have in common.
  private func common(_ fixture: ContentFixture) -> [String: String] {
    [
      "accept-ranges": "bytes", "etag": "\"\(fixture.digest)\"",
      "repr-digest": "sha-256=:\(Base64.encode(fixture.digest.array)):",
      "cache-control": "private, max-age=31536000, immutable", "x-accel-buffering": "no",
    ]
  }

  /// The responses of both ways: of the loop, and of the routes.
  private func both(
    _ fixture: ContentFixture, _ method: HTTPMethod = .get, _ fields: Fields = []
  ) async throws -> [ContentResponse] {
    let request = fixture.request(method, fields)
    let deferred = try await fixture.offLoop(request)
    return [try #require(try fixture.onLoop(request)), deferred]
  }

  @Test("a 200 has the content, its media type, a strong tag, its digest, and is kept by its client alone")
  func whole() async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    for response in try await both(fixture) {
      #expect(response.status == 200)
      var expected = common(fixture)
      expected["content-type"] = "application/pdf"
      #expect(response.ownFields == expected)
      #expect(response.body == fixture.content)
      #expect(response.pacing == nil)
    }
    #expect(try fixture.onLoop(fixture.request())?["Content-Length"] == "10000")
  }

  /// §15.3.7: what a 200 would have, and Content-Range.
  @Test("a 206 has one range of bytes, and the fields of a 200 with Content-Range")
  func part() async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    for (range, bytes, contentRange) in [
      ("bytes=0-499", 0..<500, "bytes 0-499/10000"), ("bytes=-500", 9500..<10_000, "bytes 9500-9999/10000"),
      ("bytes=9999-", 9999..<10_000, "bytes 9999-9999/10000"),
    ] {
      for response in try await both(fixture, .get, [("Range", range)]) {
        #expect(response.status == 206)
        var expected = common(fixture)
        expected["content-type"] = "application/pdf"
        expected["content-range"] = contentRange
        #expect(response.ownFields == expected)
        #expect(response.body == Array(fixture.content[bytes]))
      }
      let loop = try fixture.onLoop(fixture.request(.get, [("Range", range)]))
      #expect(loop?["Content-Length"] == String(bytes.count))
    }
  }

  /// §14.6, §15.3.7.2.
  @Test("several ranges come as parts in the order of the request, each with its type and its Content-Range")
  func parts() async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    let request = fixture.request(.get, [("Range", "bytes=5000-5009,0-9")])
    #expect(try fixture.onLoop(request) == nil)
    let response = try await fixture.offLoop(request)
    #expect(response.status == 206)
    let type = try #require(response["Content-Type"])
    // Some clients do not understand a boundary in quotes.
    let boundary = try #require(try /multipart\/byteranges; boundary=([0-9A-Za-z]+)/.wholeMatch(in: type)?.1)
    var expected = common(fixture)
    expected["content-type"] = type
    #expect(response.ownFields == expected)
    func part(_ contentRange: String, _ bytes: Range<Int>) -> [UInt8] {
      Array("--\(boundary)\r\nContent-Type: application/pdf\r\nContent-Range: \(contentRange)\r\n\r\n".utf8)
        + fixture.content[bytes]
    }
    let end = Array("\r\n--\(boundary)--\r\n".utf8)
    let between = Array("\r\n".utf8)
    let document =
      part("bytes 5000-5009/10000", 5000..<5010) + between + part("bytes 0-9/10000", 0..<10) + end
    #expect(response.body == document)
  }

  /// §15.4.5: what a 200 would have of ETag and Cache-Control; it has no content.
  @Test(
    "a 304 has the tag and what a cache needs, neither content nor its type",
    arguments: [HTTPMethod.get, .head])
  func notModified(method: HTTPMethod) async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    for fields in [
      [("If-None-Match", fixture.tag)], [("If-None-Match", "*"), ("Range", "bytes=0-9")],
    ] as [Fields] {
      for response in try await both(fixture, method, fields) {
        #expect(response.status == 304)
        #expect(response.ownFields == common(fixture))
        #expect(response["Content-Length"] == nil)
        #expect(response.body.isEmpty)
      }
    }
  }

  /// RFC 9111 §3 lets a cache keep any response that says for how long; RFC 9530 §3: a digest in a refusal is the refusal's own.
  @Test("a 412 and a 416 are kept by no cache, name the content, and claim no digest of it")
  func refused() async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    let identity = ["accept-ranges": "bytes", "etag": fixture.tag, "cache-control": "no-store"]
    for response in try await both(fixture, .get, [("If-Match", "\"other\""), ("Range", "bytes=0-9")]) {
      #expect(response.status == 412)
      #expect(response.ownFields == identity)
      #expect(response.body.isEmpty)
    }
    for response in try await both(fixture, .get, [("Range", "bytes=10000-")]) {
      #expect(response.status == 416)
      // §15.5.17: the length, so that a client may ask anew.
      #expect(
        response.ownFields == identity.merging(["content-range": "bytes */10000"]) { first, _ in first })
      #expect(response.body.isEmpty)
    }
    // A wish for digests is of the content, which these are not.
    for (fields, status) in [
      ([("If-Match", "\"other\"")], 412), ([("Range", "bytes=10000-")], 416),
    ] as [(Fields, Int)] {
      let wishes: Fields = [("Want-Repr-Digest", "sha-256=10"), ("Want-Digest", "sha-256")]
      let response = try await fixture.offLoop(fixture.request(.get, fields + wishes))
      #expect(response.status == status)
      #expect(response["Repr-Digest"] == nil && response["Digest"] == nil)
    }
  }

  /// §9.3.2, §14.2.
  @Test(
    "HEAD has the fields of GET, whatever range it asks for, and no body",
    arguments: ["", "bytes=0-9", "bytes=10000-"])
  func head(range: String) async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    let get = try #require(try fixture.onLoop(fixture.request()))
    for response in try await both(fixture, .head, range.isEmpty ? [] : [("Range", range)]) {
      #expect(response.status == 200)
      #expect(response.ownFields == get.ownFields)
      #expect(response.body.isEmpty)
    }
    #expect(try fixture.onLoop(fixture.request(.head))?["Content-Length"] == "10000")
  }

  /// RFC 9530 §4 and appendix A; `Want-Digest` and `Digest` are of RFC 3230.
  @Test(
    "Repr-Digest is there unless sha-256 is unwanted, the older Digest where it is asked for",
    arguments: [
      ([("Want-Repr-Digest", "sha-256=0")], false, false),
      ([("Want-Repr-Digest", "sha-512=10, sha-256=1")], true, false),
      ([("Want-Repr-Digest", "sha-256=0, broken=")], true, false),
      ([("Want-Digest", "SHA-512;q=1, SHA-256;q=1, SHA;q=0.1")], true, true),
      ([("Want-Digest", "sha-256;q=0")], true, false), ([("Want-Digest", "SHA-512")], true, false),
    ] as [([(name: String, value: String)], Bool, Bool)])
  func digests(fields: [(name: String, value: String)], repr: Bool, old: Bool) async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    let digest = Base64.encode(fixture.digest.array)
    for range in [[], [("Range", "bytes=0-9")]] as [Fields] {
      let request = fixture.request(.get, range + fields)
      #expect(try fixture.onLoop(request) == nil)
      let response = try await fixture.offLoop(request)
      #expect(response.status == (range.isEmpty ? 200 : 206))
      #expect(response["Repr-Digest"] == (repr ? "sha-256=:\(digest):" : nil))
      #expect(response["Digest"] == (old ? "SHA-256=\(digest)" : nil))
    }
  }

  @Test("a body beyond the limit is 429 with Retry-After, and what has no body is answered")
  func limits() async throws {
    let fixture = try ContentFixture(limits: RateLimits(bodiesPerGrant: 1, bodiesPerDevice: 8))
    try await fixture.open()
    let meter = fixture.meters.meter(for: ContentFixture.handle, device: 3, content: fixture.digest)
    meter.didBegin()
    for fields in [[], [("Range", "bytes=0-9")]] as [Fields] {
      let request = fixture.request(.get, fields)
      // The time to come back differs: no loop has it ready.
      #expect(try fixture.onLoop(request) == nil)
      let response = try await fixture.offLoop(request)
      #expect(response.status == 429)
      #expect(response["Retry-After"] == "1")
      #expect(try APIJSON.decode(Problem.self, from: response.body).code == .tooManyRequests)
    }
    for (fields, status) in [
      ([("If-None-Match", "*")], 304), ([("If-Match", "\"other\"")], 412),
      ([("Range", "bytes=10000-")], 416),
    ] as [(Fields, Int)] {
      for response in try await both(fixture, .get, fields) { #expect(response.status == status) }
    }
    meter.didEnd()
    for response in try await both(fixture) { #expect(response.status == 200) }
  }

  @Test("a body that the burst has no room for is paced with the rate, and a short one is not")
  func pacing() async throws {
    let bucket = TokenBucket(rate: 4096, burst: 8192)
    let fixture = try ContentFixture(
      limits: RateLimits(bodiesPerGrant: 8, bodiesPerDevice: 8, grant: bucket))
    try await fixture.open()
    for response in try await both(fixture) { #expect(response.pacing == 4096) }
    for response in try await both(fixture, .get, [("Range", "bytes=0-9")]) {
      #expect(response.pacing == nil)
    }
  }
}

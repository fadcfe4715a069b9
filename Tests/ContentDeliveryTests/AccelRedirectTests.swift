import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentDelivery

/// docs/delivery.md has what is left to nginx: bodies that it would answer as they were decided here.
@Suite("Bodies that a proxy sends")
struct AccelRedirectTests {
  private typealias Fields = [(name: String, value: String)]

  private func fixture(longest: ByteCount? = nil, limits: RateLimits = .none) async throws -> ContentFixture {
    let redirect = try #require(AccelRedirect(prefix: "/packages", longest: longest))
    let fixture = try ContentFixture(
      limits: limits, proxies: TrustedProxies(networks: [try #require(PeerNetwork("10.0.0.0/8"))]),
      accelRedirect: redirect)
    try await fixture.open()
    return fixture
  }

  /// The response to a proxy at that address, which says for whom it asks.
  private func response(
    _ fixture: ContentFixture, _ method: HTTPMethod = .get, _ fields: Fields = [], peer: String = "10.0.0.1",
    isForwarding: Bool = true
  ) async throws -> ContentResponse {
    var request = fixture.request(
      method, fields + (isForwarding ? [("X-Forwarded-For", "192.0.2.7")] : []))
    request.peer = try #require(PeerAddress(host: peer))
    return try await fixture.offLoop(request)
  }

  private func location(_ fixture: ContentFixture) -> String {
    let name = "\(fixture.digest)"
    return "/packages/\(name.prefix(2))/\(name.dropFirst(2))"
  }

  @Test(
    "the whole and a plain range are left to the proxy, with the fields of a 200 and no body",
    arguments: [nil, "bytes=0-499", "bytes=9000-20000", "bytes=9000-", "bytes=-500"])
  func redirected(range: String?) async throws {
    let fixture = try await fixture()
    let response = try await response(fixture, .get, range.map { [("Range", $0)] } ?? [])
    // The proxy makes a 206 of it, and adds Content-Range; of a whole it adds Accept-Ranges as well.
    #expect(response.status == 200)
    #expect(response["X-Accel-Redirect"] == location(fixture))
    #expect(response["ETag"] == fixture.tag && response["Content-Type"] == "application/pdf")
    #expect(response["Accept-Ranges"] == (range == nil ? nil : "bytes"))
    #expect(response["Content-Range"] == nil && response["X-Accel-Limit-Rate"] == nil)
    #expect(response.body.isEmpty)
  }

  @Test("a request that the proxy may answer in another way is answered here")
  func own() async throws {
    let fixture = try await fixture()
    for (fields, status) in [
      ([("If-None-Match", "\"other\"")], 200), ([("If-Match", fixture.tag)], 200),
      ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], 200),
      ([("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], 200),
      ([("If-None-Match", fixture.tag)], 304), ([("If-Match", "\"other\"")], 412),
      ([("Range", "bytes=10000-")], 416), ([("Range", "bytes=0-9,5000-5009")], 206),
      ([("Range", "BYTES=0-9")], 206), ([("Range", "bytes= 0-9")], 206), ([("Range", "bytes=0-9,")], 206),
      // More digits than the proxy reads.
      ([("Range", "bytes=0-9999999999999999")], 206), ([("Range", "bytes=5-4")], 200),
      ([("Range", "bytes=0-9"), ("If-Range", "\"other\"")], 200),
    ] as [(Fields, Int)] {
      let response = try await response(fixture, .get, fields)
      #expect(response.status == status, "\(fields)")
      #expect(response["X-Accel-Redirect"] == nil, "\(fields)")
    }
    let head = try await response(fixture, .head, [("Range", "bytes=0-9")])
    #expect(head.status == 200 && head["X-Accel-Redirect"] == nil)
  }

  @Test("a peer that is no trusted proxy, or names no client, gets the body itself")
  func otherPeers() async throws {
    let fixture = try await fixture()
    for (peer, isForwarding) in [("192.0.2.1", true), ("10.0.0.1", false)] {
      let response = try await response(fixture, peer: peer, isForwarding: isForwarding)
      #expect(response["X-Accel-Redirect"] == nil)
      #expect(response.body == fixture.content)
    }
  }

  @Test("a body longer than the bound is sent here, where a revocation can end it")
  func longest() async throws {
    let fixture = try await fixture(longest: ByteCount(500))
    #expect(try await response(fixture)["X-Accel-Redirect"] == nil)
    #expect(try await response(fixture, .get, [("Range", "bytes=0-500")])["X-Accel-Redirect"] == nil)
    #expect(try await response(fixture, .get, [("Range", "bytes=0-499")])["X-Accel-Redirect"] != nil)
  }

  @Test("the proxy is told the rate, and what it was told to send is counted as sent")
  func counted() async throws {
    let bucket = TokenBucket(rate: 4096, burst: 8192)
    let fixture = try await fixture(
      limits: RateLimits(bodiesPerGrant: 8, bodiesPerDevice: 8, grant: bucket))
    #expect(try await response(fixture)["X-Accel-Limit-Rate"] == "4096")
    #expect(fixture.meters.total == ByteCount(10_000))
    fixture.timer.advance(by: .seconds(10))
    let head = try await response(fixture, .head)
    #expect(head["X-Accel-Redirect"] == location(fixture))
    #expect(fixture.meters.total == ByteCount(10_000))
  }

  @Test("what a proxy may send is not a loop's")
  func loop() async throws {
    let fixture = try await fixture()
    var request = fixture.request(.get, [("X-Forwarded-For", "192.0.2.7")])
    request.peer = try #require(PeerAddress(host: "10.0.0.1"))
    #expect(try fixture.onLoop(request) == nil)
    request.peer = try #require(PeerAddress(host: "192.0.2.1"))
    #expect(try fixture.onLoop(request)?.body == fixture.content)
  }
}

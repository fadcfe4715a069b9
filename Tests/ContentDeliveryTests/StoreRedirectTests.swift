import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentDelivery

/// docs/object-stores.md ("An edge") has what is left to an nginx that reads from the store.
@Suite("Bodies that a proxy reads from an object store")
struct StoreRedirectTests {
  private typealias Fields = [(name: String, value: String)]

  /// The parts of a package that are in the server's own cache: none.
  private final class Nothing: FilePresence {
    func hold(_ range: Range<Int64>) -> Int64 { range.lowerBound }
    func release(_ range: Range<Int64>) {}
    func bring(
      _ range: Range<Int64>, completion: @escaping @Sendable (FilePresenceError?) -> Void
    ) -> @Sendable () -> Void {
      completion(FilePresenceError(.unavailable, "a test says so"))
      return {}
    }
  }

  /// A package of which nothing is on this node.
  private func fixture(
    longest: ByteCount? = nil, limits: RateLimits = .none, query: String? = "X-Amz-Signature=ab%2F1"
  ) async throws -> ContentFixture {
    let redirect = try #require(AccelRedirect(prefix: "/store/", longest: longest, origin: .store))
    let fixture = try ContentFixture(
      limits: limits, proxies: TrustedProxies(networks: [try #require(PeerNetwork("10.0.0.0/8"))]),
      accelRedirect: redirect)
    fixture.source.presence.withLock { $0 = Nothing() }
    fixture.source.query.withLock { $0 = query }
    try await fixture.open()
    return fixture
  }

  private func response(
    _ fixture: ContentFixture, _ method: HTTPMethod = .get, _ fields: Fields = [], peer: String = "10.0.0.1"
  ) async throws -> ContentResponse {
    var request = fixture.request(method, fields + [("X-Forwarded-For", "192.0.2.7")])
    request.peer = try #require(PeerAddress(host: peer))
    return try await fixture.offLoop(request)
  }

  private func location(_ fixture: ContentFixture) -> String {
    let name = "\(fixture.digest)"
    return "/store/\(name.prefix(2))/\(name.dropFirst(2))?X-Amz-Signature=ab%2F1&seconds=60"
  }

  @Test(
    "the whole, and a plain range, with or without the right If-Range, are read by an address that counts for a minute",
    arguments: [nil, "bytes=0-499", "bytes=9000-20000", "bytes=9000-", "bytes=-500"], [false, true])
  func redirected(range: String?, hasCondition: Bool) async throws {
    let fixture = try await fixture()
    var fields: Fields = range.map { [("Range", $0)] } ?? []
    if hasCondition { fields.append(("If-Range", fixture.tag)) }
    let response = try await response(fixture, .get, fields)
    #expect(response.status == 200)
    #expect(response["X-Accel-Redirect"] == location(fixture))
    #expect(response["ETag"] == fixture.tag && response["Content-Type"] == "application/pdf")
    #expect(response["Repr-Digest"] != nil && response.body.isEmpty)
    #expect(fixture.meters.total > .zero)
  }

  @Test(
    "conditions are judged here, and so is what the store would answer in another way",
    arguments: [
      ([("If-None-Match", "tag")], 304), ([("If-Match", "\"other\"")], 412),
      ([("Range", "bytes=10000-")], 416),
      // Nothing of the package is there for the rest, which this server would send itself.
      ([("If-None-Match", "\"other\"")], 503), ([("If-Match", "tag")], 503),
      ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], 503),
      ([("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], 503),
      ([("Range", "bytes=0-9"), ("If-Range", "\"other\"")], 503),
      ([("Range", "bytes=0-9"), ("If-Range", "Sun, 06 Nov 1994 08:49:37 GMT")], 503),
      ([("Range", "bytes=0-9,5000-5009")], 503), ([("Range", "bytes= 0-9")], 503),
    ] as [([(String, String)], Int)])
  func own(fields: [(String, String)], status: Int) async throws {
    let fixture = try await fixture()
    let named = fields.map { (name: $0.0, value: $0.1 == "tag" ? fixture.tag : $0.1) }
    let response = try await response(fixture, .get, named)
    #expect(response.status == status)
    #expect(response["X-Accel-Redirect"] == nil)
  }

  @Test("for a head no store is asked, nor for a package that lies in none, nor by a peer that is no proxy")
  func others() async throws {
    let fixture = try await fixture()
    let head = try await response(fixture, .head)
    #expect(head.status == 200 && head["X-Accel-Redirect"] == nil)
    #expect(try await response(fixture, peer: "192.0.2.1")["X-Accel-Redirect"] == nil)
    let without = try await self.fixture(query: nil)
    #expect(try await response(without)["X-Accel-Redirect"] == nil)
  }

  @Test("a body longer than the bound is sent here, where a revocation can end it")
  func longest() async throws {
    let fixture = try await fixture(longest: ByteCount(500))
    #expect(try await response(fixture)["X-Accel-Redirect"] == nil)
    #expect(try await response(fixture, .get, [("Range", "bytes=0-500")])["X-Accel-Redirect"] == nil)
    #expect(try await response(fixture, .get, [("Range", "bytes=0-499")])["X-Accel-Redirect"] != nil)
  }

  @Test("a body whose rate would not let it end while the address counts is sent here")
  func paced() async throws {
    for (rate, isRedirected) in [(Int64(400), true), (200, false)] {
      let bucket = TokenBucket(rate: rate, burst: 8192)
      let fixture = try await fixture(
        limits: RateLimits(bodiesPerGrant: 8, bodiesPerDevice: 8, grant: bucket))
      let response = try await response(fixture)
      #expect((response["X-Accel-Redirect"] != nil) == isRedirected)
      #expect((response["X-Accel-Limit-Rate"] == "\(rate)") == isRedirected)
    }
  }

  @Test(
    "an address counts for a minute, and half of it is a body's at its rate",
    arguments: [nil, 1000, 334, 333])
  func pace(bytesPerSecond: UInt64?) throws {
    let store = try #require(AccelRedirect(prefix: "/a", origin: .store))
    let directory = try #require(AccelRedirect(prefix: "/a"))
    #expect(store.bears(pace: bytesPerSecond, length: 10_000) == (bytesPerSecond ?? .max > 333))
    #expect(directory.bears(pace: bytesPerSecond, length: 10_000))
  }
}

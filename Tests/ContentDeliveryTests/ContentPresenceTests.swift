import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentDelivery

/// A package of which only parts are there when it is asked for. Statuses are those of docs/problems.md.
@Suite("Content that comes in parts", .timeLimit(.minutes(5)))
struct ContentPresenceTests {
  /// The bytes up to a length that a test gives; who wants one behind it waits.
  private final class Presence: FilePresence {
    private struct State {
      var length: Int64
      var waits: [(range: Range<Int64>, completion: @Sendable (FilePresenceError?) -> Void)] = []
      var watcher: CheckedContinuation<Void, Never>?
      var held = 0
    }

    private let state: Locked<State>

    init(length: Int64) {
      state = Locked(State(length: length))
    }

    var heldCount: Int { state.current.held }

    func hold(_ range: Range<Int64>) -> Int64 {
      state.withLock { state in
        let end = max(range.lowerBound, min(state.length, range.upperBound))
        if end > range.lowerBound { state.held += 1 }
        return end
      }
    }

    func release(_ range: Range<Int64>) {
      if !range.isEmpty { state.withLock { $0.held -= 1 } }
    }

    func bring(
      _ range: Range<Int64>, completion: @escaping @Sendable (FilePresenceError?) -> Void
    ) -> @Sendable () -> Void {
      let watcher = state.withLock { state in
        state.waits.append((range, completion))
        return state.watcher.take()
      }
      watcher?.resume()
      return {}
    }

    /// Returns the range that is waited for, as soon as one is.
    func waited() async -> Range<Int64>? {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.waits.isEmpty { state.watcher = continuation }
          return !state.waits.isEmpty
        }
        if isThere { continuation.resume() }
      }
      return state.current.waits.first?.range
    }

    /// Lets who waits go on, with so many bytes, or with an error.
    func end(_ result: Result<Int64, FilePresenceError>) {
      let waits = state.withLock { state in
        if case .success(let length) = result { state.length = length }
        defer { state.waits = [] }
        return state.waits
      }
      for wait in waits {
        if case .failure(let error) = result { wait.completion(error) } else { wait.completion(nil) }
      }
    }
  }

  private let presence = Presence(length: 1000)

  private func fixture(
    limits: RateLimits = .none, proxies: TrustedProxies = TrustedProxies(),
    accelRedirect: AccelRedirect? = nil,
    isDamage: Bool = true
  ) async throws -> ContentFixture {
    let fixture = try ContentFixture(
      limits: limits, proxies: proxies, accelRedirect: accelRedirect, isDamage: isDamage)
    fixture.source.presence.withLock { $0 = presence }
    try await fixture.open()
    return fixture
  }

  @Test(
    "a loop answers what begins with a byte that is there, and what has no body; the rest it leaves to the routes"
  )
  func onLoop() async throws {
    let fixture = try await fixture()
    func status(_ fields: [(name: String, value: String)], _ method: HTTPMethod = .get) throws -> Int? {
      try fixture.onLoop(fixture.request(method, fields))?.status
    }
    #expect(try status([]) == 200)
    #expect(try status([("Range", "bytes=999-5000")]) == 206)
    #expect(try status([("Range", "bytes=1000-1000")]) == nil)
    #expect(try status([("Range", "bytes=-1")]) == nil)
    #expect(try status([("Range", "bytes=1000-1000")], .head) == 200)
    #expect(try status([("Range", "bytes=20000-")]) == 416)
    #expect(try status([("If-None-Match", fixture.tag)]) == 304)
    #expect(presence.heldCount == 0)
  }

  @Test(
    "off the loops a response begins once its first byte is there",
    arguments: [("bytes=5000-5999", 5000..<6000), ("bytes=-100", 9900..<10_000)] as [(String, Range<Int64>)])
  func begins(field: String, range: Range<Int64>) async throws {
    let fixture = try await fixture()
    async let response = fixture.offLoop(fixture.request(.get, [("Range", field)]))
    #expect(await presence.waited() == range)
    presence.end(.success(10_000))
    #expect(try await response.status == 206)
    #expect(try await response.body == Array(fixture.content[Int(range.lowerBound)..<Int(range.upperBound)]))
  }

  @Test("of several ranges the first one is waited for before the head, and HEAD and refusals wait for none")
  func several() async throws {
    let fixture = try await fixture()
    async let response = fixture.offLoop(fixture.request(.get, [("Range", "bytes=2000-2999,5000-5999")]))
    #expect(await presence.waited() == 2000..<3000)
    presence.end(.success(3000))
    #expect(try await response.status == 206)
    #expect(try await fixture.offLoop(fixture.request(.head)).status == 200)
    #expect(try await fixture.offLoop(fixture.request(.get, [("Range", "bytes=20000-")])).status == 416)
    #expect(try await fixture.offLoop(fixture.request(.get, [("If-Match", "\"x\"")])).status == 412)
  }

  @Test(
    "what cannot be brought now is answered 503, with the time to come back",
    arguments: [
      (Duration?.none, "2"), (.seconds(7), "7"), (.milliseconds(1500), "2"), (.seconds(7200), "900"),
    ])
  func unavailable(retryAfter: Duration?, field: String) async throws {
    let fixture = try await fixture()
    async let response = fixture.offLoop(fixture.request(.get, [("Range", "bytes=5000-5999")]))
    _ = await presence.waited()
    presence.end(.failure(FilePresenceError(.unavailable, "the store is away", retryAfter: retryAfter)))
    #expect(try await response.status == 503)
    #expect(try await response["Retry-After"] == field)
    #expect(
      try await String(decoding: response.body, as: UTF8.self).contains("urn:pullbox:problem:unavailable"))
    // Nothing was begun, and nothing is counted.
    let meter = fixture.meters.meter(for: ContentFixture.handle, device: 3, content: fixture.digest)
    #expect(meter.rate.bodies == 0)
    #expect(fixture.missed.current.isEmpty)
  }

  @Test("a package that turns out to be missing is told of")
  func missing() async throws {
    for isDamage in [true, false] {
      let fixture = try await fixture(isDamage: isDamage)
      async let response = fixture.offLoop(fixture.request(.get, [("Range", "bytes=5000-5999")]))
      _ = await presence.waited()
      presence.end(.failure(FilePresenceError(.missing, "a test says so")))
      #expect(try await response.status == (isDamage ? 503 : 404))
      #expect(fixture.missed.current == [fixture.digest])
    }
  }

  @Test("a package that turns out to be damaged is refused as that, and not told of as missing")
  func damaged() async throws {
    let fixture = try await fixture()
    async let response = fixture.offLoop(fixture.request(.get, [("Range", "bytes=5000-5999")]))
    _ = await presence.waited()
    presence.end(.failure(FilePresenceError(.damaged, "a test says so")))
    #expect(try await response.status == 503)
    #expect(
      try await String(decoding: response.body, as: UTF8.self).contains("urn:pullbox:problem:content-damaged")
    )
    #expect(fixture.missed.current.isEmpty)
  }

  @Test("a ticket that opens nothing any more when the bytes are there gets none of them")
  func revoked() async throws {
    let fixture = try await fixture()
    async let response = fixture.offLoop(fixture.request(.get, [("Range", "bytes=5000-5999")]))
    _ = await presence.waited()
    fixture.clock.advance(by: ContentFixture.lifetime)
    presence.end(.success(10_000))
    #expect(try await response.status == 403)
    #expect(
      try await String(decoding: response.body, as: UTF8.self).contains("urn:pullbox:problem:ticket-expired"))
  }

  @Test("a proxy is not told to send a file that has holes")
  func accelRedirect() async throws {
    let proxy = try #require(PeerNetwork("10.0.0.0/8"))
    let fixture = try await fixture(
      proxies: TrustedProxies(networks: [proxy]), accelRedirect: AccelRedirect(prefix: "/packages"))
    var request = fixture.request(.get, [("X-Forwarded-For", "192.0.2.1")])
    request.peer = try #require(PeerAddress(host: "10.0.0.1"))
    let response = try await fixture.offLoop(request)
    #expect(response.status == 200)
    #expect(response["X-Accel-Redirect"] == nil)
  }
}

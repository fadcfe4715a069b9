import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery

@Suite("Diagnostic routes", .timeLimit(.minutes(2)))
struct DiagnosticRouteTests {
  @Test("a body rests after as many bytes as were asked for")
  func pause() async throws {
    let timer = ManualMonotonicClock()
    let sent = Locked<[UInt8]>([])
    let body = DiagnosticBody(range: 1000..<1100, pause: .seconds(30), pauseAfter: 40, timer: timer)
    let writing = Task { try await body.write { bytes in sent.withLock { $0 += bytes } } }
    await timer.waitForSleepers()
    #expect(sent.current == DiagnosticContent.bytes(in: 1000..<1040))
    #expect(timer.timeToNextSleeper == .seconds(30))
    timer.advance(by: .seconds(30))
    try await writing.value
    #expect(sent.current == DiagnosticContent.bytes(in: 1000..<1100))
  }

  @Test("two bodies are sent to an address at once, whatever its ports, and others have theirs beside it")
  func placesOfAddress() throws {
    let slots = DiagnosticSlots(count: 3, ofClient: 2)
    func take(_ host: String, port: UInt16 = 0) throws -> DiagnosticSlots.Slot {
      try slots.take(for: try #require(PeerAddress(host: host, port: port)))
    }
    let first = try take("2001:db8::1", port: 1)
    let second = try take("2001:db8::2", port: 2)
    let refusal = try #require(throws: Problem.self) { try take("2001:db8::1", port: 3) }
    #expect(refusal.code == .tooManyRequests)
    #expect(refusal.retryAfterSeconds == 2)
    let third = try take("192.0.2.1")
    let full = try #require(throws: Problem.self) { try take("192.0.2.2") }
    #expect(full.code == .unavailable)
    first.didEnd()
    first.release()
    let fourth = try take("2001:db8::3")
    for slot in [second, third, fourth] { slot.release() }
    #expect(DiagnosticRoutes.maximumBodiesOfClient == 2)
  }

  /// The handler of the diagnostic routes, with the settings and the clocks of `fixture`.
  private func router(_ fixture: ContentFixture) -> Router {
    var routes = ContentFixture.Routes()
    DiagnosticRoutes(
      settings: fixture.settings, clock: fixture.clock, timer: fixture.timer,
      file: DiagnosticFile(state: "/nonexistent")
    ).add(to: &routes)
    return routes.router
  }

  @Test("a report names the fields and parameters that arrived, and no value")
  func report() async throws {
    let fixture = try ContentFixture(
      proxies: TrustedProxies(networks: [try #require(PeerNetwork("10.0.0.0/8"))]))
    let router = router(fixture)
    var request = ContentRequest(
      target: "/v1/diagnostics?ticket=secret",
      fields: [
        ("Authorization", "Bearer secret"), ("X-Forwarded-For", "192.0.2.7"), ("Accept-Encoding", "gzip"),
        ("Cookie", "secret=1"),
      ])
    for (peer, client) in [("10.1.2.3", "192.0.2.7"), ("198.51.100.1", "198.51.100.1")] {
      request.peer = try #require(PeerAddress(host: peer))
      let response = ContentResponse(
        await router.respond(to: try request.read()), to: request.method, content: [])
      #expect(response.status == 200)
      #expect(response["Cache-Control"] == "no-store")
      let report = try APIJSON.decode(DiagnosticReport.self, from: response.body)
      #expect(report.fields == ["accept-encoding", "authorization", "x-forwarded-for"])
      #expect(report.parameters == ["ticket"])
      #expect(report.client == client)
      #expect(report.isProxyTrusted == (peer == "10.1.2.3"))
      #expect(!report.handsOff)
      #expect(report.time == fixture.clock.now())
      #expect(!String(decoding: response.body, as: UTF8.self).contains("secret"))
    }
  }

  @Test("so many bodies are sent at once; those beyond are refused until one has ended, or was let go")
  func places() throws {
    let slots = DiagnosticSlots(count: 2, ofClient: 2)
    let client = try #require(PeerAddress(host: "192.0.2.1"))
    func take() -> DiagnosticSlots.Slot? { try? slots.take(for: client) }
    let first = try #require(take())
    var second = take()
    #expect(second != nil)
    #expect(take() == nil)
    first.release()
    first.release()
    let third = take()
    #expect(third != nil)
    #expect(take() == nil)
    second = nil
    #expect(take() != nil)
  }

  @Test("heads of bodies take no place")
  func heads() async throws {
    let router = router(try ContentFixture())
    let request = ContentRequest(method: .head, target: "/v1/diagnostics/body?length=9")
    for _ in 0..<DiagnosticRoutes.maximumBodies * 2 {
      let response = await router.respond(to: try request.read())
      #expect(response.status == .ok)
    }
  }
}

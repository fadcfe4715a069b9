import HTTPServer
import PullboxAPI
import PullboxTesting
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
}

import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Testing

@testable import AgentRecords
@testable import ContentLibrary

@Suite struct NetworkConditionTests {
  private static let start = MonotonicInstant(nanoseconds: 0)
  private static func at(_ seconds: Int) -> MonotonicInstant { start + .seconds(seconds) }
  private static func pause(_ failures: Int) -> Duration { .seconds(min(1 << (failures - 1), 120)) }

  private func expect(
    _ condition: inout NetworkCondition, at second: Int, _ expected: NetworkCondition.Admission,
    _ location: SourceLocation = #_sourceLocation
  ) {
    let admission = condition.admit(at: Self.at(second))
    #expect(admission == expected, sourceLocation: location)
  }

  @Test("an open way admits everything, and a service that is not ours closes it for a pause that grows (D5)")
  func growth() {
    var condition = NetworkCondition()
    expect(&condition, at: 0, .open)
    condition.fail(wasProbe: false, at: Self.at(0), pause: Self.pause)
    expect(&condition, at: 0, .held(.seconds(1)))
    var now = 0
    var pauses: [Int] = []
    for _ in 0..<10 {
      var next = now
      while condition.admit(at: Self.at(next)) != .probe { next += 1 }
      pauses.append(next - now)
      now = next
      condition.fail(wasProbe: true, at: Self.at(now), pause: Self.pause)
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 120, 120, 120])
  }

  @Test("what ends a call that waits for long says nothing of the way, and a refusal of the service is kept")
  func waitingCall() async throws {
    let gate = NetworkGate(clock: ManualMonotonicClock())
    let page = APICallError.unexpectedResponse(
      status: 504, detail: "<html>", retryAfter: .seconds(60), isPage: true)
    try #require(page.isForeign)
    await #expect(throws: APICallError.self) {
      try await gate.passWaiting("GET /queue") { () async throws(APICallError) in throw page }
    }
    #expect(try await gate.pass("GET /queue") { () async throws(APICallError) in 1 } == 1)
    await #expect(throws: APICallError.self) {
      try await gate.pass("GET /queue") { () async throws(APICallError) in throw page }
    }
    let calls = Locked(0)
    await #expect(throws: APICallError.self, "it is no probe") {
      try await gate.passWaiting("GET /queue") { () async throws(APICallError) in calls.withLock { $0 += 1 } }
    }
    #expect(calls.current == 0)
  }

  @Test("one probe goes out for all, and one that never ends is replaced") func oneProbe() {
    var condition = NetworkCondition()
    condition.fail(wasProbe: false, at: Self.at(0), pause: Self.pause)
    expect(&condition, at: 1, .probe)
    for second in 1..<91 { expect(&condition, at: second, .held(.seconds(91 - second))) }
    expect(&condition, at: 91, .probe)
    #expect(
      NetworkCondition.longestProbe > SpeedHistory.stallAfter, "a transfer that stands still tells its end")
  }

  @Test("calls that went out before it closed change nothing, and the service's own word opens it")
  func late() {
    var condition = NetworkCondition()
    for _ in 0..<8 { condition.fail(wasProbe: false, at: Self.at(0), pause: Self.pause) }
    #expect(condition.failures == 1)
    let hasOpened = condition.succeed()
    let again = condition.succeed()
    #expect(hasOpened && !again)
    expect(&condition, at: 0, .open)
  }

  /// 100 downloads that each would ask every ten seconds.
  @Test("an hour behind a log-in page costs a service at most 60 requests, however many calls there are (D5)")
  func anHour() async throws {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(clock: clock)
    let page = APICallError.unexpectedResponse(status: 200, detail: "<html>", isPage: true)
    let requests = Locked(0)
    for second in 0..<3600 {
      for _ in 0..<10 {
        await #expect(throws: APICallError.self) {
          try await gate.pass("GET /") { () async throws(APICallError) -> Int in
            requests.withLock { $0 += 1 }
            throw page
          }
        }
      }
      #expect(second == 0 || !gate.isOpen)
      clock.advance(by: .seconds(1))
    }
    #expect((20...60).contains(requests.current))
    let signal = AsyncSignal()
    gate.signalOpenings(to: signal)
    clock.advance(by: .seconds(120))
    _ = try await gate.pass("GET /") { () async throws(APICallError) -> Int in 1 }
    #expect(gate.isOpen && gate.openings == 1)
    // Returns at once: the signal was given.
    await signal.wait(atMost: nil, clock: clock)
  }

  @Test("a machine that wrongly says that it has no network is doubted each two minutes") func doubt()
    async throws
  {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(clock: clock)
    let signal = AsyncSignal()
    gate.signalOpenings(to: signal)
    let requests = Locked(0)
    let isThere = Locked(false)
    func call() async -> Bool {
      do {
        _ = try await gate.pass("GET /") { () async throws(APICallError) -> Int in
          requests.withLock { $0 += 1 }
          guard isThere.current else {
            throw .unreachable(HTTPClientError(code: .noNetwork, message: "no route", isRetryable: true))
          }
          return 1
        }
        return true
      } catch {
        return false
      }
    }
    gate.setAbsence("this machine has no network, as rtnetlink says", doubtful: true)
    for _ in 0..<600 {
      #expect(await !call())
      // Told again, as at every change of another condition.
      gate.setAbsence("this machine has no network, as rtnetlink says", doubtful: true)
      clock.advance(by: .seconds(1))
    }
    #expect(requests.current == 4 && !gate.takeDisproof())
    isThere.withLock { $0 = true }
    #expect(await call())
    #expect(gate.takeDisproof() && !gate.takeDisproof() && gate.openings == 1)
    await signal.wait(atMost: nil, clock: clock)
    #expect(await call())
    gate.setAbsence("this machine is about to sleep")
    clock.advance(by: .seconds(3600))
    #expect(await !call(), "sleep is no matter of doubt")
  }

  @Test("the answer to a call of before disproves neither a log-in page nor an absence that was told since")
  func earlierCall() async throws {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(clock: clock)
    func answered(_ meanwhile: () throws(APICallError) -> Void = {}) async throws {
      _ = try await gate.pass("GET /") { () async throws(APICallError) -> Int in
        try meanwhile()
        return 1
      }
    }
    try await answered { gate.setPortal(true) }
    #expect(!gate.takeDisproof())
    try await answered { gate.setPortal(true) }
    #expect(gate.takeDisproof(), "it was told again, and before the call")
    gate.setPortal(false)
    try await answered { () throws(APICallError) in
      gate.setAbsence("this machine has no network", doubtful: true)
      clock.advance(by: .seconds(120))
      // It is under way, and not answered.
      _ = try gate.admit()
    }
    #expect(!gate.takeDisproof())
    #expect(throws: APICallError.self) { _ = try gate.admit() }
    clock.advance(by: .seconds(120))
    try await answered()
    #expect(gate.takeDisproof())
  }

  @Test("without a network no call is made, and its end wakes what waits") func absence() async throws {
    let gate = NetworkGate(clock: ManualMonotonicClock())
    let signal = AsyncSignal()
    gate.signalOpenings(to: signal)
    gate.setAbsence("this machine has no network, as rtnetlink says")
    let requests = Locked(0)
    let error = await #expect(throws: APICallError.self) {
      try await gate.pass("GET /") { () async throws(APICallError) -> Int in
        requests.withLock { $0 += 1 }
        return 1
      }
    }
    let failure = try StepFailure(#require(error), from: .store)
    #expect(failure.reason == .noNetwork && failure.recovery == .retry(notBefore: nil))
    #expect(failure.cause == "this machine has no network, as rtnetlink says")
    #expect(requests.current == 0 && gate.isOpen)
    gate.setAbsence(nil)
    gate.setAbsence(nil)
    #expect(gate.openings == 1)
    await signal.wait(atMost: nil, clock: SystemMonotonicClock())
    #expect(try await gate.pass("GET /") { () async throws(APICallError) -> Int in 1 } == 1)
  }

  @Test("a way that is another one is probed at once, whatever the pause") func otherWay() async throws {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(
      clock: clock, backoff: Backoff(initial: .seconds(100), factor: 1, cap: .seconds(100), jitter: 0))
    _ = try? await gate.pass("GET /") { () async throws(APICallError) -> Int in
      throw .unexpectedResponse(status: 200, detail: "<html>", isPage: true)
    }
    #expect(throws: APICallError.self) { _ = try gate.admit() }
    gate.tryAgain()
    #expect(try gate.admit().isProbe, "it is a probe")
  }

  @Test("what is held fails as the probe did, with the time to the next one") func held() async throws {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(
      clock: clock, backoff: Backoff(initial: .seconds(10), factor: 1, cap: .seconds(10), jitter: 0))
    _ = try? await gate.pass("GET /") { () async throws(APICallError) -> Int in
      throw .unexpectedResponse(status: 403, detail: "<html>", isPage: true)
    }
    clock.advance(by: .seconds(4))
    let error = try #require(throws: APICallError.self) { _ = try gate.admit() }
    let failure = StepFailure(error, from: .store)
    #expect(failure.reason == .networkNotOpen && failure.recovery == .retry(notBefore: .seconds(6)))
  }

  @Test("a proxy's Retry-After is obeyed by every call, a log-in page's is not", arguments: [503, 200])
  func requestedPause(status: Int) throws {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(
      clock: clock, backoff: Backoff(initial: .seconds(1), factor: 1, cap: .seconds(1), jitter: 0))
    gate.note(
      .unexpectedResponse(status: status, detail: "", retryAfter: .seconds(600), isPage: true),
      to: try gate.admit())
    clock.advance(by: .seconds(599))
    if status == 503 {
      #expect(throws: APICallError.self) { _ = try gate.admit() }
      clock.advance(by: .seconds(1))
    }
    #expect(try gate.admit().isProbe)
  }

  private static let page = APICallError.unexpectedResponse(status: 200, detail: "", isPage: true)
  private static let cancelled = APICallError.unreachable(
    HTTPClientError(code: .cancelled, message: "cancelled", isRetryable: false))

  @Test("a probe that its caller gave up is no failure, and the pauses of such probes grow by themselves")
  func givenUp() throws {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(
      clock: clock, backoff: Backoff(initial: .seconds(1), factor: 10, cap: .seconds(1000), jitter: 0))
    gate.note(Self.page, to: try gate.admit())
    // The first pause is of the page.
    for (pause, end) in [(1, Self.page), (10, Self.cancelled), (1, Self.cancelled), (10, Self.page)] {
      clock.advance(by: .seconds(pause) - .milliseconds(1))
      #expect(throws: APICallError.self) { try gate.admit() }
      clock.advance(by: .milliseconds(1))
      let probe = try gate.admit()
      #expect(probe.isProbe)
      #expect(throws: APICallError.self, "one goes out at a time") { try gate.admit() }
      gate.note(end, to: probe)
    }
    clock.advance(by: .seconds(99))
    #expect(throws: APICallError.self, "it is the third page") { try gate.admit() }
    clock.advance(by: .seconds(1))
    gate.noteAnswer(to: try gate.admit())
    #expect(gate.isOpen)
  }

  @Test("a probe that another has replaced changes nothing, given up or not reached") func replacedProbe()
    throws
  {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(
      clock: clock, backoff: Backoff(initial: .seconds(1), factor: 100, cap: .seconds(100), jitter: 0))
    let lost = APICallError.unreachable(HTTPClientError(code: .connectionFailed, message: "refused"))
    gate.note(Self.page, to: try gate.admit())
    clock.advance(by: .seconds(1))
    let first = try gate.admit()
    clock.advance(by: NetworkCondition.longestProbe)
    let second = try gate.admit()
    #expect(first.isProbe && second.isProbe)
    gate.note(Self.cancelled, to: first)
    clock.advance(by: .seconds(2))
    #expect(throws: APICallError.self, "the second is waited for") { try gate.admit() }
    gate.note(lost, to: second)
    clock.advance(by: .seconds(99))
    #expect(throws: APICallError.self, "the second pause is a hundred seconds long") { try gate.admit() }
    clock.advance(by: .seconds(1))
    let third = try gate.admit()
    clock.advance(by: NetworkCondition.longestProbe)
    gate.noteAnswer(to: try gate.admit())
    gate.note(lost, to: third)
    #expect(gate.isOpen, "the answer has opened the way")
  }

  @Test("a call against the machine's word that its caller gave up is made again after the first pause")
  func givenUpDoubt() throws {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(
      clock: clock, backoff: Backoff(initial: .seconds(1), factor: 2, cap: .seconds(100), jitter: 0))
    gate.setAbsence("no network", doubtful: true)
    clock.advance(by: NetworkGate.standardDoubt)
    gate.note(Self.cancelled, to: try gate.admit())
    #expect(throws: APICallError.self) { try gate.admit() }
    clock.advance(by: .seconds(1))
    gate.noteAnswer(to: try gate.admit())
    #expect(gate.takeDisproof())
  }

  @Test("a call that is waited for a moment only is no failed probe where nothing came in it") func optional()
    async throws
  {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(
      clock: clock, backoff: Backoff(initial: .seconds(1), factor: 100, cap: .seconds(100), jitter: 0))
    gate.note(Self.page, to: try gate.admit())
    clock.advance(by: .seconds(1))
    await #expect(throws: APICallError.self) {
      try await gate.pass("GET /store/v1/offers", isOptional: true) { () throws(APICallError) -> Int in
        throw .unreachable(HTTPClientError(code: .timedOut, message: "late"))
      }
    }
    clock.advance(by: .seconds(1))
    #expect(try gate.admit().isProbe)
  }

  @Test("a service that is not reached neither closes the way nor opens it") func unreachable() async throws {
    let clock = ManualMonotonicClock()
    let gate = NetworkGate(
      clock: clock, backoff: Backoff(initial: .seconds(1), factor: 1, cap: .seconds(1), jitter: 0))
    let lost = APICallError.unreachable(HTTPClientError(code: .connectionFailed, message: "refused"))
    gate.note(lost, to: try gate.admit())
    #expect(gate.isOpen)
    gate.note(.unexpectedResponse(status: 302, detail: "", isPage: true), to: try gate.admit())
    for answer in [lost, .problem(Problem(.grantUnknown))] {
      #expect(!gate.isOpen)
      clock.advance(by: .seconds(1))
      let probe = try gate.admit()
      #expect(probe.isProbe)
      gate.note(answer, to: probe)
    }
    #expect(gate.isOpen, "a refusal in the contract's words is the service's")
  }
}

@Suite struct SpeedHistoryTests {
  @Test(
    "a transfer has stalled below an eighth of what the server gave lately, within 1 and 16 KiB a second (R4)"
  )
  func floors() {
    let history = SpeedHistory()
    #expect(history.floor(under: nil) == .kibibytes(1))
    history.record(.mebibytes(100), in: .seconds(10))
    #expect(history.floor(under: nil) == .kibibytes(16))
    history.record(.kibibytes(640), in: .seconds(10))
    #expect(history.floor(under: nil) == .kibibytes(8))
    history.record(ByteCount(100), in: .seconds(60))
    #expect(
      history.floor(under: nil) == .kibibytes(1),
      "a server that has become slow is not given up again and again")
  }

  @Test("what is too short or too small to measure says nothing, and a cap lowers the floor (R4)")
  func measures() {
    let history = SpeedHistory()
    history.record(.mebibytes(1), in: .milliseconds(100))
    #expect(history.floor(under: nil) == .kibibytes(16))
    history.record(ByteCount(1000), in: .milliseconds(10))
    history.record(ByteCount(1000), in: .zero)
    #expect(history.floor(under: nil) == .kibibytes(16))
    #expect(history.floor(under: .kibibytes(10)) == .kibibytes(5))
    #expect(history.floor(under: ByteCount(1)) == ByteCount(1))
  }
}

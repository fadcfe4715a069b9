import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentDelivery
@testable import RouteAccess

@Suite("Admission of requests")
struct AdmissionTests {
  private let clock = ManualMonotonicClock()
  private let address = PeerAddress(family: .version4, port: 1, high: 0, low: 0xC000_0201)

  private func control(
    _ limits: AdmissionLimits.Limits, inProgress: Int = 100
  ) -> AdmissionControl {
    var all = AdmissionLimits()
    all.classes = [.store: limits, .ticket: limits, .operator: limits]
    all.inProgress = inProgress
    all.waiting = 0
    return AdmissionControl(all, timer: clock)
  }

  /// Admits, answers at once, and tells the refusal, if any.
  private func ask(
    _ control: AdmissionControl, _ kind: AdmissionClass = .store, from address: PeerAddress? = nil,
    client: String? = nil
  ) -> Problem? {
    do {
      let turn = try control.admit(
        kind, from: address ?? self.address, client: client.map { ClientKey(kind, $0) })
      #expect(turn == .now)
      control.didAnswer(kind)
      return nil
    } catch {
      return error
    }
  }

  /// Admits, and leaves it in progress.
  private func begin(_ control: AdmissionControl, _ kind: AdmissionClass = .store) throws {
    #expect(try control.admit(kind, from: address, client: nil) == .now)
  }

  private func host(_ text: String) -> PeerAddress {
    PeerAddress(host: text) ?? .unix
  }

  @Test("an address has its burst, then its rate, and others are not concerned")
  func addresses() {
    let control = control(.init(address: TokenBucket(rate: 2, burst: 10), client: nil, inProgress: 100))
    // The time before the first request pays for it: the burst and one more.
    let admitted = (0..<50).count { _ in ask(control) == nil }
    #expect((10...11).contains(admitted))
    let refusal = ask(control)
    #expect(refusal?.code == .tooManyRequests)
    #expect(refusal?.status == 429)
    #expect(ask(control, from: host("192.0.2.2")) == nil)
    clock.advance(by: .seconds(3))
    // Two a second.
    #expect((0..<50).count { _ in ask(control) == nil } == 6)
  }

  @Test("an IPv6 address counts by its first 64 bits, which a host does not choose")
  func version6() {
    let control = control(.init(address: TokenBucket(rate: 1, burst: 4), client: nil, inProgress: 100))
    let admitted = (0..<50).count { ask(control, from: host("2001:db8::\($0 + 1)")) == nil }
    #expect((4...5).contains(admitted))
    #expect(ask(control, from: host("2001:db8:0:1::1")) == nil)
  }

  @Test("a class has buckets of its own, and a client of its own beside its address")
  func clients() {
    let control = control(
      .init(
        address: TokenBucket(rate: 100, burst: 1000), client: TokenBucket(rate: 1, burst: 4), inProgress: 100)
    )
    let admitted = (0..<50).count { _ in ask(control, client: "one") == nil }
    #expect((4...5).contains(admitted))
    #expect(ask(control, client: "one")?.code == .tooManyRequests)
    #expect(ask(control, client: "other") == nil)
    #expect(ask(control, .ticket, client: "one") == nil)
  }

  @Test("addresses without a limit, and Unix sockets, have none")
  func unlimited() {
    var limits = AdmissionLimits()
    limits.classes = [.store: .init(address: TokenBucket(rate: 1, burst: 1), client: nil, inProgress: 100)]
    limits.waiting = 0
    limits.unlimited = [PeerNetwork(limiting: address)]
    let control = AdmissionControl(limits, timer: clock)
    #expect((0..<50).allSatisfy { _ in ask(control) == nil })
    #expect((0..<50).allSatisfy { _ in ask(control, from: .unix) == nil })
    #expect(!(0..<50).allSatisfy { _ in ask(control, from: host("192.0.2.9")) == nil })
  }

  @Test("requests in progress are bounded by class and for the process; operators' are not among the latter")
  func inProgress() throws {
    let control = control(.init(address: nil, client: nil, inProgress: 3), inProgress: 5)
    for _ in 0..<3 { try begin(control) }
    let full = ask(control)
    #expect(full?.code == .unavailable)
    #expect(full?.status == 503)
    #expect(full?.retryAfterSeconds != nil)
    for _ in 0..<2 { try begin(control, .ticket) }
    #expect(ask(control, .ticket)?.code == .unavailable)
    #expect(ask(control, .operator) == nil)
    control.didAnswer(.store)
    #expect(ask(control, .ticket) == nil)
    #expect(ask(control) == nil)
    let counts = control.counts
    #expect(counts[.store]?.inProgress == 2)
    #expect(counts[.store]?.refused == [.inProgress: 1])
    #expect(counts[.ticket]?.refused == [.process: 1])
  }

  @Test(
    "a request that waits for its body is not in progress, and is refused when it comes back to a full class")
  func suspended() throws {
    let control = control(.init(address: nil, client: nil, inProgress: 1), inProgress: 2)
    for _ in 0..<5 {
      try begin(control)
      control.suspend(.store)
    }
    #expect(ask(control) == nil)
    #expect(try control.resume(.store) == .now)
    #expect(ask(control)?.code == .unavailable)
    let refusal = #expect(throws: Problem.self) { try control.resume(.store) }
    #expect(refusal?.code == .unavailable)
    #expect(refusal?.retryAfterSeconds != nil)
    control.didAnswer(.store)
    try begin(control, .ticket)
    try begin(control, .operator)
    #expect(try control.resume(.store) == .now)
    #expect(control.counts[.store]?.inProgress == 1)
    #expect(control.counts[.store]?.refused == [.inProgress: 2])
  }

  @Test("who is refused is told a later time the more wait, up to a minute, and a smaller one as time passes")
  func returns() throws {
    let control = control(.init(address: TokenBucket(rate: 10, burst: 10), client: nil, inProgress: 1000))
    while ask(control) == nil {}
    let told = (0..<2000).map { _ in ask(control)?.retryAfterSeconds ?? 0 }
    #expect(told.first == 1)
    // Ten are served in a second: the hundredth comes in the tenth.
    #expect((9...11).contains(told[99]))
    #expect(zip(told, told.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(told.last == 60)
    clock.advance(by: .seconds(60))
    while ask(control) == nil {}
    #expect(try #require(ask(control)?.retryAfterSeconds) <= 2)
  }

  @Test("a client without a connection takes its place behind those that were refused what most ask for")
  func connectionReturns() throws {
    let control = control(.init(address: nil, client: nil, inProgress: 1))
    #expect(control.secondsForConnection() <= 1)
    try begin(control, .ticket)
    // A thousand a second before anything else is known, of which 850 are told to come.
    var told = 0
    for _ in 0..<5000 { told = try #require(ask(control, .ticket)?.retryAfterSeconds) }
    #expect(told == 6)
    for _ in 0..<2000 { told = control.secondsForConnection() }
    #expect(told == 9)
    #expect(ask(control, .ticket)?.retryAfterSeconds == 9)
  }

  @Test(
    "a client without a connection is told a rate that was seen, not what a class might reach that never refused"
  )
  func connectionRate() throws {
    let control = control(.init(address: nil, client: nil, inProgress: 1))
    for _ in 0..<12 {
      for _ in 0..<100 {
        try begin(control)
        #expect(ask(control, .store) != nil)
        control.didAnswer(.store)
      }
      try begin(control, .completion)
      control.didAnswer(.completion)
      clock.advance(by: .seconds(1))
    }
    clock.advance(by: .seconds(60))
    let told = (0..<850).map { _ in control.secondsForConnection() }
    // 85 of a hundred a second.
    #expect((9...11).contains(try #require(told.last)))
  }

  @Test("by default, what is in progress and its bodies take no more than tens of megabytes")
  func defaults() {
    let limits = AdmissionLimits()
    // Each keeps a task, a body and a transfer of libcurl's.
    #expect(limits[.store].inProgress <= 256)
    #expect(limits.inProgress <= 512)
    #expect(limits.bodyBytes <= .mebibytes(16))
  }

  @Test("a time to come back is spread over a range that grows with it, and is never earlier")
  func spread() {
    var generator = SplitMix(seed: 7)
    for (least, most) in [(1, 2), (10, 11), (60, 67)] {
      let problem = Problem(.unavailable, retryAfterSeconds: least)
      let told = Set(
        (0..<500).compactMap { _ in problem.spreadingReturns(using: &generator).retryAfterSeconds })
      #expect(told == Set(least...most))
    }
    let silent = Problem(.tooManyRequests).spreadingReturns(using: &generator)
    #expect((1...2).contains(silent.retryAfterSeconds ?? 0))
    #expect(Problem(.notFound).spreadingReturns(using: &generator).retryAfterSeconds == nil)
  }

  @Test("the estimate of what can be answered learns only from seconds in which all places were taken")
  func throughput() {
    var estimate = ThroughputEstimate()
    let second: UInt64 = 1_000_000_000
    for step in 1...5 as ClosedRange<UInt64> { estimate.didAnswer(now: step * second) }
    #expect(estimate.perSecond == 1000)
    estimate.wasFull(now: 10 * second)
    for _ in 0..<200 { estimate.didAnswer(now: 10 * second + 5) }
    estimate.wasFull(now: 11 * second)
    #expect(estimate.perSecond == 600)
    for step in 12...40 as ClosedRange<UInt64> { estimate.wasFull(now: step * second) }
    #expect(estimate.perSecond == ThroughputEstimate.least)
  }

  @Test("the table of buckets keeps those that owe, whatever else is asked, in memory of a fixed size")
  func table() {
    var table = BucketTable(capacity: 64)
    let bucket = TokenBucket(rate: 1, burst: 100)
    let now: UInt64 = 1_000_000_000_000
    let debtor = ClientKey(.store, "debtor").value
    while table.charge(debtor, by: bucket, now: now) == .admitted {}
    for number in 0..<100_000 { _ = table.charge(ClientKey(.store, number).value, by: bucket, now: now) }
    #expect(!table.admits(debtor, by: bucket, now: now))
    #expect(table.admits(debtor, by: bucket, now: now + 3_000_000_000))
  }
}

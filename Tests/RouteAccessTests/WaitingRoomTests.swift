import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentDelivery
@testable import RouteAccess

@Suite("Requests that wait for a place")
struct WaitingRoomTests {
  private let clock = ManualMonotonicClock()

  private func control(inProgress: Int, of all: Int = 100, waiting: Int = 4) -> AdmissionControl {
    var limits = AdmissionLimits()
    for kind in AdmissionClass.allCases {
      limits.classes[kind] = .init(address: nil, client: nil, inProgress: inProgress)
    }
    limits.inProgress = all
    limits.waiting = waiting
    return AdmissionControl(limits, timer: clock)
  }

  private func admit(
    _ control: AdmissionControl, _ kind: AdmissionClass = .store
  ) throws -> AdmissionControl.Turn {
    try control.admit(kind, from: .unix, client: nil)
  }

  @Test("the first that came is the first that has its turn, and no newer one goes before it")
  func order() async throws {
    let control = control(inProgress: 1)
    #expect(try admit(control) == .now)
    let waiting = try (0..<3).map { _ in try admit(control) }
    #expect(waiting == [.later(1), .later(2), .later(3)])
    #expect(control.counts[.store]?.waiting == 3)
    for turn in waiting {
      control.didAnswer(.store)
      // The place is the waiting one's, before it has asked for it.
      #expect(control.counts[.store]?.inProgress == 1)
      try await control.wait(for: turn)
    }
    control.didAnswer(.store)
    #expect(control.counts[.store]?.inProgress == 0 && control.counts[.store]?.waiting == 0)
    #expect(try admit(control) == .now)
  }

  @Test("a request that is asked for while it waits goes on when a place is free")
  func resumed() async throws {
    let control = control(inProgress: 1)
    #expect(try admit(control) == .now)
    let turn = try admit(control)
    async let answer: Void = control.wait(for: turn)
    control.didAnswer(.store)
    try await answer
    #expect(control.counts[.store]?.inProgress == 1)
  }

  @Test("what has its body already goes before what has not been read")
  func bodies() async throws {
    let control = control(inProgress: 1)
    #expect(try admit(control) == .now)
    control.suspend(.store)
    #expect(try admit(control) == .now)
    let later = try admit(control)
    let read = try control.resume(.store)
    control.didAnswer(.store)
    try await control.wait(for: read)
    #expect(control.counts[.store]?.waiting == 1)
    control.didAnswer(.store)
    try await control.wait(for: later)
  }

  @Test("a class that is full holds up no other, and what is further along in a delivery goes first")
  func classes() async throws {
    let control = control(inProgress: 2, of: 3)
    for kind in [AdmissionClass.store, .store, .ticket] { #expect(try admit(control, kind) == .now) }
    let store = try admit(control)
    let ticket = try admit(control, .ticket)
    let completion = try admit(control, .completion)
    control.didAnswer(.store)
    try await control.wait(for: completion)
    control.didAnswer(.ticket)
    try await control.wait(for: ticket)
    #expect(control.counts[.store]?.waiting == 1)
    control.didAnswer(.store)
    try await control.wait(for: store)
    // Operators are not among those of the process.
    #expect(try admit(control, .operator) == .now)
  }

  @Test("who has waited for two seconds is sent away with a time to come back, and gives up its turn")
  func patience() async throws {
    let control = control(inProgress: 1)
    #expect(try admit(control) == .now)
    let first = try admit(control)
    clock.advance(by: .milliseconds(1500))
    let second = try admit(control)
    control.sweep()
    #expect(control.counts[.store]?.waiting == 2)
    clock.advance(by: .milliseconds(500))
    control.sweep()
    let refusal = await #expect(throws: Problem.self) { try await control.wait(for: first) }
    #expect(refusal?.code == .unavailable && refusal?.retryAfterSeconds != nil)
    #expect(control.counts[.store]?.refused == [.inProgress: 1])
    control.didAnswer(.store)
    try await control.wait(for: second)
  }

  @Test("a request whose client is gone when its turn comes gives it to the next")
  func gone() async throws {
    let control = control(inProgress: 1)
    #expect(try admit(control) == .now)
    let (gone, next) = (try admit(control), try admit(control))
    control.didAnswer(.store)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await control.wait(for: gone)
      try control.requireClient(of: .store)
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await control.wait(for: next)
    #expect(control.counts[.store]?.inProgress == 1)
  }

  @Test(
    "a request whose client goes while it waits leaves the line, and makes room", arguments: [false, true])
  func left(isEarly: Bool) async throws {
    let control = control(inProgress: 1, waiting: 2)
    #expect(try admit(control) == .now)
    let turns = try (0..<2).map { _ in try admit(control) }
    #expect(throws: Problem.self) { try admit(control) }
    let task = Task {
      // Before it has begun to wait, or after.
      while isEarly, !Task.isCancelled { await Task.yield() }
      try await control.wait(for: turns[0])
    }
    if !isEarly { for _ in 0..<100 { await Task.yield() } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(control.counts[.store]?.refused == [.inProgress: 1])
    #expect(control.counts[.store]?.waiting == 1)
    let next = try admit(control)
    for turn in [turns[1], next] {
      control.didAnswer(.store)
      try await control.wait(for: turn)
    }
    #expect(control.counts[.store]?.inProgress == 1)
  }

  @Test("a request with its body finds room though those that have not been read fill theirs")
  func bodiesBeyond() async throws {
    let control = control(inProgress: 1, waiting: 2)
    #expect(try admit(control) == .now)
    control.suspend(.store)
    #expect(try admit(control) == .now)
    for _ in 0..<2 { _ = try admit(control) }
    #expect(throws: Problem.self) { try admit(control) }
    let read = try control.resume(.store)
    control.didAnswer(.store)
    try await control.wait(for: read)
  }

  @Test("a class that gets no place because others have those of the process keeps its rate")
  func rate() throws {
    let control = control(inProgress: 2, of: 2, waiting: 100)
    for _ in 0..<2 { #expect(try admit(control, .completion) == .now) }
    for _ in 0..<8 {
      #expect(throws: Never.self) { _ = try admit(control) }
      clock.advance(by: .seconds(1))
    }
    clock.advance(by: .seconds(2))
    control.sweep()
    // At twenty a second, the least that is learned, no more than forty could wait.
    for _ in 0..<100 { _ = try admit(control) }
    #expect(control.counts[.store]?.waiting == 100)
  }

  @Test("what is refused because its turn would come too late is not charged")
  func uncharged() throws {
    var limits = AdmissionLimits()
    let bucket = TokenBucket(rate: 1, burst: 3)
    limits.classes[.store] = .init(address: bucket, client: nil, inProgress: 1)
    limits.waiting = 0
    let control = AdmissionControl(limits, timer: clock)
    let address = PeerAddress(family: .version4, port: 1, high: 0, low: 0xC000_0201)
    #expect(try control.admit(.store, from: address, client: nil) == .now)
    for _ in 0..<20 {
      let refusal = #expect(throws: Problem.self) {
        try control.admit(.store, from: address, client: nil)
      }
      #expect(refusal?.code == .unavailable)
    }
    control.didAnswer(.store)
    #expect(try control.admit(.store, from: address, client: nil) == .now)
  }

  @Test("however many are further along, each fourth turn is that of the request that came first")
  func fairness() {
    var room = WaitingRoom()
    func join(_ kind: AdmissionClass) -> WaitingRoom.Number? {
      room.join(kind, hasBody: false, limit: 1000, perSecond: 1000, now: 0)
    }
    let grants = (0..<3).map { _ in join(.store) }
    for _ in 0..<20 { _ = join(.completion) }
    let turns = (0..<12).compactMap { _ in room.next { _ in true } }
    #expect(turns.indices.filter { turns[$0].kind == .store } == [3, 7, 11])
    #expect(turns.filter { $0.kind == .store }.map(\.number) == grants)
    // Where only the last of the order has a place, it need not wait for its turn.
    _ = join(.store)
    #expect(room.next { $0 == .store }?.kind == .store)
  }

  @Test("every class has its place in the order of turns")
  func precedence() {
    #expect(Set(AdmissionClass.byPrecedence) == Set(AdmissionClass.allCases))
    #expect(AdmissionClass.byPrecedence.count == AdmissionClass.allCases.count)
  }

  @Test("no more wait than may, nor than will have their turn in time; those that wait long anyway never do")
  func bounds() throws {
    let control = control(inProgress: 1, waiting: 3)
    #expect(try admit(control) == .now)
    for _ in 0..<3 { _ = try admit(control) }
    let refusal = #expect(throws: Problem.self) { try admit(control) }
    #expect(refusal?.code == .unavailable)
    for kind in [AdmissionClass.feed, .upload] {
      #expect(try admit(control, kind) == .now)
      #expect(throws: Problem.self) { try admit(control, kind) }
    }
    var room = WaitingRoom()
    // Twenty a second: forty in two seconds.
    let admitted = (0..<100).count { _ in
      room.join(.store, hasBody: false, limit: 1000, perSecond: 20, now: 0) != nil
    }
    #expect(admitted == 40)
  }

  @Test("a larger bound takes effect for those that wait")
  func replaced() async throws {
    let control = control(inProgress: 1)
    #expect(try admit(control) == .now)
    let turn = try admit(control)
    var limits = control.limits
    limits.classes[.store]?.inProgress = 2
    control.replace(limits)
    try await control.wait(for: turn)
    #expect(control.counts[.store]?.inProgress == 2)
  }
}

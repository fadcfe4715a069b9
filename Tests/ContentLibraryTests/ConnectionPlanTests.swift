import CoreTypes
import PullboxTesting
import Testing

@testable import ContentLibrary

/// The number of connections, by the speed of a way that is simulated.
@Suite struct ConnectionPlanTests {
  /// A way, and the transfer over it: bytes come each tenth of a second.
  private struct Way {
    var plan = ConnectionPlan()
    var now = MonotonicInstant(nanoseconds: 0)
    var received = ByteCount.zero
    var left: ByteCount = .gibibytes(2)
    var counts: [Int] = [1]
    /// The requests that are under way; nil for as many as there should be.
    var running: Int?

    /// Goes on for so long, at so many bytes a second with as many connections.
    mutating func run(_ duration: Duration, heldBack: Double = 0, speed: (Int) -> Double) {
      let end = now + duration
      while now < end {
        now = now + .milliseconds(100)
        let bytes = ByteCount(Int64(speed(plan.count) / 10))
        received = received + bytes
        left = left - bytes
        plan.noteHeldBack(for: .milliseconds(Int64(heldBack * 100)))
        let isChanged = plan.note(received, left: left, running: running ?? plan.count, at: now)
        if isChanged { counts.append(plan.count) }
      }
    }
  }

  private static let mebibyte = Double(1 << 20)

  @Test("where each connection is capped, four are used, one after the other") func capped() {
    var way = Way()
    way.run(.seconds(60)) { Double($0) * Self.mebibyte }
    #expect(way.counts == [1, 2, 3, 4])
  }

  @Test("one that brings more is followed by the next trial at once") func atOnce() {
    var way = Way()
    // A second and two measures of 4 s before the first trial, a second and one measure before each of the next.
    way.run(.seconds(21)) { Double($0) * Self.mebibyte }
    #expect(way.counts == [1, 2, 3, 4])
  }

  @Test("one that brings more is followed by none where the rest is not worth a trial") func followedByNone()
  {
    var way = Way()
    way.left = .mebibytes(40)
    way.run(.seconds(20)) { Double($0) * Self.mebibyte }
    #expect(way.counts == [1, 2])
  }

  @Test("where one fills the way, a second is tried and goes again") func full() {
    var way = Way()
    way.run(.seconds(30)) { _ in 2 * Self.mebibyte }
    #expect(way.counts == [1, 2, 1])
  }

  @Test("a gain of 14 % is too little, one of 16 % is enough", arguments: [(1.14, 1), (1.16, 2)])
  func gain(factor: Double, count: Int) {
    var way = Way()
    way.run(.seconds(25)) { $0 == 1 ? Self.mebibyte : factor * Self.mebibyte }
    #expect(way.plan.count == count)
  }

  @Test("trials that bring nothing come at ever longer intervals") func pauses() {
    var way = Way()
    way.left = .gibibytes(64)
    way.run(.seconds(3600)) { _ in Self.mebibyte }
    let trials = way.counts.count { $0 == 2 }
    #expect((4...8).contains(trials), "\(trials)")
  }

  @Test("while the speed still rises, no connection is added for it") func ramp() {
    var way = Way()
    var speed = Self.mebibyte / 8
    way.run(.seconds(20)) { _ in
      speed *= 1.005
      return speed
    }
    #expect(way.counts == [1])
  }

  @Test("a transfer that this side holds back a fifth of the time gets no second connection") func heldBack()
  {
    var way = Way()
    way.run(.seconds(60), heldBack: 0.2) { Double($0) * Self.mebibyte }
    #expect(way.counts == [1])
  }

  @Test("a trial that this side holds back ends") func heldBackTrial() {
    var way = Way()
    while way.plan.count == 1 { way.run(.seconds(1)) { Double($0) * Self.mebibyte } }
    way.run(.seconds(6), heldBack: 0.5) { Double($0) * Self.mebibyte }
    #expect(way.counts == [1, 2, 1])
  }

  @Test("a short wait for the disk changes nothing") func shortWait() {
    var way = Way()
    way.run(.seconds(60), heldBack: 0.05) { Double($0) * Self.mebibyte }
    #expect(way.plan.count == 4)
  }

  @Test("a trial is measured from the opening of its connection on, however late that comes")
  func lateOpening() {
    var way = Way()
    while way.plan.count == 1 { way.run(.milliseconds(100)) { Double($0) * Self.mebibyte } }
    way.running = 1
    way.run(.seconds(20)) { _ in Self.mebibyte }
    #expect(way.plan.count == 2)
    way.running = nil
    way.run(.seconds(6)) { Double($0) * Self.mebibyte }
    #expect(way.counts == [1, 2, 3])
  }

  @Test("one whose connection is not opened within two minutes ends, and the next comes no later for it")
  func unopened() {
    var way = Way()
    way.left = .gibibytes(64)
    while way.plan.count == 1 { way.run(.milliseconds(100)) { Double($0) * Self.mebibyte } }
    way.running = 1
    // Three times two minutes until it ends, and between them a minute and two measures of 4 s.
    way.run(.seconds(505)) { _ in Self.mebibyte }
    #expect(way.counts == [1, 2, 1, 2, 1, 2, 1])
  }

  @Test("one that opens after everything has stood still for long is not measured") func openedLate() {
    var way = Way()
    while way.plan.count == 1 { way.run(.milliseconds(100)) { Double($0) * Self.mebibyte } }
    way.now = way.now + .seconds(600)
    way.run(.milliseconds(100)) { Double($0) * Self.mebibyte }
    #expect(way.counts == [1, 2, 1])
  }

  @Test("what is about to end is not measured any more") func end() {
    var way = Way()
    way.left = .mebibytes(20)
    way.run(.seconds(18)) { Double($0) * Self.mebibyte }
    #expect(way.counts == [1])
  }

  @Test("after a refusal there is one connection, and no trial") func refused() {
    var way = Way()
    way.run(.seconds(30)) { Double($0) * Self.mebibyte }
    #expect(way.plan.count > 1)
    let isChanged = way.plan.refuse()
    #expect(isChanged)
    way.run(.seconds(600)) { Double($0) * Self.mebibyte / 8 }
    #expect(way.plan.count == 1)
    let wasChanged = way.plan.refuse()
    #expect(!wasChanged)
  }

  @Test(
    "while the machine has other work there is half of the connections, one at least, and no trial",
    arguments: [(4, 2), (3, 1), (2, 1), (1, 1)])
  func yielding(count: Int, half: Int) {
    var way = Way(plan: ConnectionPlan(count: count))
    let isChanged = way.plan.setYielding(true)
    #expect(isChanged == (count != half))
    way.run(.seconds(120)) { Double($0) * Self.mebibyte }
    #expect(way.plan.count == half && way.counts == [1])
    let isChangedAgain = way.plan.setYielding(true)
    #expect(!isChangedAgain)
  }

  @Test("once it has none any more, connections come back by trials") func yieldingEnds() {
    var way = Way()
    way.run(.seconds(60)) { Double($0) * Self.mebibyte }
    _ = way.plan.setYielding(true)
    let isChanged = way.plan.setYielding(false)
    #expect(!isChanged && way.plan.count == 2)
    way.run(.seconds(60)) { Double($0) * Self.mebibyte }
    #expect(way.plan.count == 4)
  }

  @Test("a connection that is a trial is not counted where half stay") func yieldingTrial() {
    var way = Way()
    while way.plan.count < 4 { way.run(.milliseconds(100)) { Double($0) * Self.mebibyte } }
    _ = way.plan.setYielding(true)
    #expect(way.plan.count == 1, "three were there for sure")
  }

  @Test("a maximum of one is kept, and there are four at most", arguments: [(1, 1), (3, 3), (9, 4), (0, 1)])
  func maximum(given: Int, reached: Int) {
    var way = Way(plan: ConnectionPlan(maximum: given))
    way.run(.seconds(90)) { Double($0) * Self.mebibyte }
    #expect(way.plan.count == reached)
  }
}

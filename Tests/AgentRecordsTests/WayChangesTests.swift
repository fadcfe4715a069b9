import CoreTypes
import Testing

@testable import AgentRecords

@Suite struct WayChangesTests {
  private func instant(_ seconds: Int) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 1_000_000_000) + .seconds(seconds)
  }

  @Test("the first change of the way is tried at once, and one that stays is trusted again") func first() {
    var changes = WayChanges()
    #expect(!changes.take(at: instant(0)) && changes.due == nil)
    for second in [0, 200, 400] {
      changes.note(at: instant(second))
      let isTaken = changes.take(at: instant(second))
      #expect(isTaken && changes.due == nil)
    }
  }

  @Test("a way that changes each second is tried after 2 s, 4 s and so on up to a minute") func flapping() {
    var changes = WayChanges()
    var tries: [Int] = []
    for second in 0..<600 {
      changes.note(at: instant(second))
      if changes.take(at: instant(second)) { tries.append(second) }
    }
    #expect(tries == [0, 2, 6, 14, 30, 62, 122, 182, 242, 302, 362, 422, 482, 542])
  }
}

import CoreTypes
import PullboxAPI
import Synchronization
import Testing

@testable import AgentRecords

/// The limits as a clock shows them that runs, is set, and is carried into another zone.
@Suite struct LimitStateTests {
  private func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

  private func limits(_ windows: [String], budget: NetworkBudget.Terms? = nil) throws -> DownloadLimits {
    DownloadLimits(windows: windows.isEmpty ? nil : try DownloadWindows(windows), budget: budget)
  }

  @Test("a window opens and closes at its time, and nothing is worked out in between") func passing() throws {
    let looks = Mutex(0)
    let calendar = LocalCalendar { _ in
      looks.withLock { $0 += 1 }
      return 0
    }
    var state = LimitState(try limits(["01:00-06:00"]), calendar: calendar)
    let start = try time("2026-11-21T00:30:00Z")
    func look(_ minutes: Int64) -> (opens: Timestamp?, closes: Timestamp?) {
      _ = state.look(
        wall: start + .seconds(minutes * 60), at: MonotonicInstant(nanoseconds: 0) + .seconds(minutes * 60),
        count: .zero)
      return (state.opens, state.closes)
    }
    let first = look(0)
    #expect(first.opens == start + .seconds(1800) && first.closes == nil)
    #expect(state.nextChange == start + .seconds(1800))
    let before = looks.withLock { $0 }
    #expect(look(29).opens == start + .seconds(1800))
    #expect(looks.withLock { $0 } == before + 1, "the zone alone is asked")
    let open = look(30)
    #expect(open.opens == nil && open.closes == start + .seconds(5 * 3600 + 1800))
    #expect(look(5 * 60 + 30).opens == start + .seconds(24 * 3600 + 1800))
  }

  @Test("a clock that was set, and another zone, are noticed at the next look") func stepped() throws {
    let zone = Mutex(0)
    var state = LimitState(
      try limits(["01:00-06:00"]), calendar: LocalCalendar { _ in zone.withLock { $0 } })
    let instant = MonotonicInstant(nanoseconds: 1_000_000_000)
    let noon = try time("2026-11-21T12:00:00Z")
    _ = state.look(wall: noon, at: instant, count: .zero)
    #expect(state.opens == noon + .seconds(13 * 3600))
    _ = state.look(wall: try time("2026-11-21T03:00:00Z"), at: instant + .seconds(1), count: .zero)
    let morning = try time("2026-11-21T06:00:00Z")
    #expect(state.opens == nil && state.closes == morning)
    zone.withLock { $0 = 9 * 3600 }
    _ = state.look(wall: try time("2026-11-21T03:00:01Z"), at: instant + .seconds(2), count: .zero)
    let next = try time("2026-11-21T16:00:00Z")
    #expect(state.opens == next && state.closes == nil)
  }

  @Test(
    "time that passes into another month brings its budget, and a clock that is set into it as well, but not back"
  )
  func months() throws {
    let terms = NetworkBudget.Terms(limit: .mebibytes(10))
    var state = LimitState(try limits([], budget: terms), calendar: LocalCalendar { _ in 0 })
    let instant = MonotonicInstant(nanoseconds: 1)
    let evening = try time("2026-11-30T23:00:00Z")
    func look(_ wall: Timestamp, after seconds: Int64, count: ByteCount) -> Bool {
      state.look(wall: wall, at: instant + .seconds(seconds), count: count)
    }
    #expect(look(evening, after: 0, count: .zero), "the first period is saved")
    #expect(state.budgetEnds == evening + .seconds(3600) && state.countLimit == .mebibytes(10))
    #expect(!look(evening + .seconds(60), after: 60, count: .mebibytes(10)))
    #expect(state.status(count: .mebibytes(10))?.budget?.left == .zero)
    #expect(look(evening + .seconds(3600), after: 3600, count: .mebibytes(10)))
    let newYear = try time("2027-01-01T00:00:00Z")
    #expect(state.countLimit == .mebibytes(20) && state.budgetEnds == newYear)
    #expect(look(evening, after: 3601, count: .mebibytes(10)))
    #expect(state.countLimit == .mebibytes(10), "November is spent still")
  }

  @Test("other limits count from the next look on, and none tell nothing") func changed() throws {
    var state = LimitState(DownloadLimits(), calendar: LocalCalendar { _ in 0 })
    let (instant, noon) = (MonotonicInstant(nanoseconds: 1), try time("2026-11-21T12:00:00Z"))
    _ = state.look(wall: noon, at: instant, count: .zero)
    #expect(state.status(count: .zero) == nil)
    state.setLimits(try limits(["13:00-14:00"]))
    _ = state.look(wall: noon, at: instant, count: .zero)
    #expect(state.opens == noon + .seconds(3600))
    #expect(state.status(count: .zero)?.window == .init(isOpen: false, until: noon + .seconds(3600)))
    state.setLimits(try limits(["11:00-14:00"]))
    _ = state.look(wall: noon, at: instant, count: .zero)
    #expect(state.opens == nil && state.closes == noon + .seconds(7200))
    state.setLimits(DownloadLimits(rate: .mebibytes(1)))
    _ = state.look(wall: noon, at: instant, count: .zero)
    #expect(
      state.nextChange == nil && state.status(count: .zero) == NetworkLimits(maximumRate: .mebibytes(1)))
  }
}

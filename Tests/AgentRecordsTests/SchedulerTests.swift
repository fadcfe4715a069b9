import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import AgentRecords

@Suite struct SchedulerTests {
  private func candidate(
    _ number: Int64, product: String? = nil, priority: Int = 0, isReady: Bool = true, isBusy: Bool = false,
    needsPlace: Bool = true
  ) throws -> Scheduler.Candidate {
    Scheduler.Candidate(
      work: .download(try #require(DownloadIdentifier("000000000000000\(number)"))),
      product: try #require(ProductIdentifier(product ?? "product\(number)")), priority: priority,
      sequence: number, isReady: isReady, isBusy: isBusy, needsPlace: needsPlace)
  }

  private func selection(_ maximum: Int, _ candidates: [Scheduler.Candidate]) -> [String] {
    Scheduler(maximumActive: maximum).selection(from: candidates).map { work in
      switch work {
      case .download(let identifier): String(identifier.description.suffix(1))
      case .job(let identifier): String(identifier.description.suffix(1))
      }
    }
  }

  @Test("no more than the maximum run, the oldest first") func maximum() throws {
    let all = try (1...5).map { try candidate(Int64($0)) }.reversed()
    #expect(selection(3, Array(all)) == ["1", "2", "3"])
    #expect(selection(1, Array(all)) == ["1"])
  }

  @Test("a higher priority goes first and interrupts nothing") func priority() throws {
    let all = [
      try candidate(1, isReady: false, isBusy: true), try candidate(2), try candidate(3, priority: 5),
    ]
    #expect(selection(2, all) == ["3"])
    #expect(selection(1, all) == [])
  }

  @Test("two downloads of one product never run at once") func sameProduct() throws {
    let all = [
      try candidate(1, product: "a"), try candidate(2, product: "a"), try candidate(3, product: "b"),
    ]
    #expect(selection(3, all) == ["1", "3"])
    let busy = [try candidate(1, product: "a", isReady: false, isBusy: true), try candidate(2, product: "a")]
    #expect(selection(3, busy) == [])
  }

  @Test("what costs next to nothing needs no place") func reports() throws {
    let all = [
      try candidate(1, isReady: false, isBusy: true), try candidate(2, needsPlace: false), try candidate(3),
    ]
    #expect(selection(1, all) == ["2"])
  }

  @Test("one that was stopped keeps its place until its step is over") func stopped() throws {
    let all = [try candidate(1, isReady: true, isBusy: true), try candidate(2)]
    #expect(selection(1, all) == [])
    #expect(selection(2, all) == ["2"])
  }

  private func job(
    _ number: Int64, holds: Set<HoldCondition> = [], isBusy: Bool = false, isWanted: Bool = true
  ) throws -> Scheduler.Candidate {
    var candidate = try candidate(number, isReady: !isBusy, isBusy: isBusy)
    candidate.work = .job(try #require(ContentJobIdentifier("000000000000000\(number)")))
    candidate.holds = holds
    candidate.isWanted = isWanted
    return candidate
  }

  @Test("what the surroundings forbid is held, what they allow again is released, once each")
  func conditions() throws {
    let scheduler = Scheduler(maximumActive: 3)
    let id = try #require(ContentJobIdentifier("0000000000000001"))
    let cases: [(HoldCondition, Scheduler.Environment)] = [
      (.libraryOffline, Scheduler.Environment(isLibraryOffline: true)),
      (.draining, Scheduler.Environment(isDraining: true)),
      (.outsideWindow, Scheduler.Environment(outsideWindowUntil: Timestamp(millisecondsSinceEpoch: 1))),
      (.budgetSpent, Scheduler.Environment(budgetSpentUntil: Timestamp(millisecondsSinceEpoch: 1))),
    ]
    for (condition, environment) in cases {
      let change = Scheduler.Change(job: id, condition: condition)
      let free = scheduler.plan(for: [try job(1)], in: environment)
      #expect(free == Scheduler.Plan(holds: [change]))
      let running = scheduler.plan(for: [try job(1, isBusy: true)], in: environment)
      #expect(running == Scheduler.Plan(holds: [change]))
      let held = try job(1, holds: [condition])
      #expect(scheduler.plan(for: [held], in: environment) == Scheduler.Plan())
      #expect(
        scheduler.plan(for: [held], in: Scheduler.Environment())
          == Scheduler.Plan(releases: [change], starts: [.job(id)]))
    }
    let unwanted = scheduler.plan(for: [try job(1, isWanted: false)], in: Scheduler.Environment())
    #expect(unwanted == Scheduler.Plan(holds: [Scheduler.Change(job: id, condition: .noReader)]))
  }

  @Test("windows and budget hold what fetches, and not what a person asked for now") func limits() throws {
    let scheduler = Scheduler(maximumActive: 3)
    let end = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
    let environment = Scheduler.Environment(outsideWindowUntil: end, budgetSpentUntil: end)
    var asked = try job(1)
    asked.urgency = .now
    asked.passesLimits = true
    var placing = try job(2)
    placing.usesNetwork = false
    var reading = try job(3)
    reading.urgency = .now
    let question = try candidate(4)
    let plan = scheduler.plan(for: [asked, placing, reading, question], in: environment)
    #expect(plan.starts == [asked.work, placing.work, question.work], "a question for a grant is not held")
    #expect(Set(plan.holds.map(\.condition)) == [.outsideWindow, .budgetSpent])
    #expect(plan.holds.allSatisfy { .job($0.job) == reading.work })
    #expect(environment.release(of: .outsideWindow) == end && environment.release(of: .preempted) == nil)
  }

  @Test("nothing starts while the agent drains") func drained() throws {
    let scheduler = Scheduler(maximumActive: 3)
    let (one, two) = (try job(1), try job(2))
    let draining = Scheduler.Environment(isDraining: true)
    #expect(scheduler.plan(for: [one, two, try candidate(3)], in: draining).starts.isEmpty)
  }

  /// A job that runs or waits, with so many bytes to fetch.
  private func job(
    _ number: Int64, _ urgency: DownloadUrgency, isBusy: Bool, missing: Int = 1000,
    isInterruptible: Bool = true,
    holds: Set<HoldCondition> = []
  ) throws -> Scheduler.Candidate {
    var candidate = try job(number, holds: holds, isBusy: isBusy)
    candidate.urgency = urgency
    candidate.isInterruptible = isBusy && isInterruptible
    candidate.bytesMissing = ByteCount(missing)
    return candidate
  }

  private func name(_ number: Int64) throws -> ContentJobIdentifier {
    try #require(ContentJobIdentifier("000000000000000\(number)"))
  }

  @Test("the more urgent goes first, whatever the priorities") func urgency() throws {
    var (background, normal, urgent) = (
      try candidate(1, priority: 9), try candidate(2), try candidate(3, priority: -9)
    )
    background.urgency = .background
    normal.urgency = .normal
    urgent.urgency = .now
    #expect(selection(3, [background, normal, urgent]) == ["3", "2", "1"])
  }

  @Test(
    "what is wanted now holds the running job in the background with the most left, and one for each alone")
  func preempts() throws {
    let scheduler = Scheduler(maximumActive: 3)
    let running = [
      try job(1, .normal, isBusy: true, missing: 9000), try job(2, .background, isBusy: true, missing: 10),
      try job(3, .background, isBusy: true, missing: 500),
    ]
    let plan = scheduler.plan(for: running + [try job(4, .now, isBusy: false)], in: .init())
    #expect(plan == Scheduler.Plan(holds: [.init(job: try name(3), condition: .preempted)]))
    let three = try (4...6).map { try job(Int64($0), .now, isBusy: false) }
    #expect(
      Set(scheduler.plan(for: running + three, in: .init()).holds.map(\.job))
        == [try name(1), try name(2), try name(3)])
  }

  @Test("nothing is stopped for less than now, for what finds a place, nor while it places its content")
  func spared() throws {
    let scheduler = Scheduler(maximumActive: 1)
    let running = try job(1, .background, isBusy: true)
    #expect(scheduler.plan(for: [running, try job(2, .normal, isBusy: false)], in: .init()) == .init())
    let placing = try job(1, .background, isBusy: true, isInterruptible: false)
    #expect(scheduler.plan(for: [placing, try job(2, .now, isBusy: false)], in: .init()) == .init())
    let alike = try job(1, .now, isBusy: true)
    #expect(scheduler.plan(for: [alike, try job(2, .now, isBusy: false)], in: .init()) == .init())
    #expect(
      Scheduler(maximumActive: 2).plan(for: [running, try job(2, .now, isBusy: false)], in: .init())
        == .init(starts: [.job(try name(2))]))
    // Of one product only one runs at once: stopping another product's helps none.
    var same = try job(2, .now, isBusy: false)
    var first = try job(3, .now, isBusy: true)
    first.product = same.product
    same.isReady = true
    #expect(
      Scheduler(maximumActive: 2).plan(for: [running, first, same], in: .init()) == .init())
  }

  @Test("a job that was stopped keeps still until its place is free, and is stopped once") func resumes()
    throws
  {
    let scheduler = Scheduler(maximumActive: 1)
    let urgent = try job(2, .now, isBusy: false)
    let stopping = try job(1, .normal, isBusy: true, holds: [.preempted])
    #expect(scheduler.plan(for: [stopping, urgent], in: .init()) == .init())
    let stopped = try job(1, .normal, isBusy: false, holds: [.preempted])
    #expect(scheduler.plan(for: [stopped, urgent], in: .init()) == .init(starts: [.job(try name(2))]))
    let running = try job(2, .now, isBusy: true)
    #expect(scheduler.plan(for: [stopped, running], in: .init()) == .init())
    let free = Scheduler.Plan(
      releases: [.init(job: try name(1), condition: .preempted)], starts: [.job(try name(1))])
    #expect(scheduler.plan(for: [stopped], in: .init()) == free)
    #expect(Scheduler(maximumActive: 2).plan(for: [stopped, running], in: .init()) == free)
  }

  @Test("a download that is wanted now keeps its place from its grant to its content") func kept() throws {
    var granted = try candidate(2, isReady: false, isBusy: true, needsPlace: false)
    granted.urgency = .now
    granted.keepsPlace = true
    let scheduler = Scheduler(maximumActive: 1)
    let stopped = try job(1, .normal, isBusy: false, holds: [.preempted])
    #expect(scheduler.plan(for: [stopped, granted], in: .init()) == .init())
    let asking = try job(1, .normal, isBusy: true)
    #expect(scheduler.plan(for: [asking, granted], in: .init()) == .init(), "a question stops nothing")
    // Its content is placed, and it reports.
    granted.keepsPlace = false
    #expect(
      scheduler.plan(for: [stopped, granted, try candidate(3)], in: .init())
        == .init(
          releases: [.init(job: try name(1), condition: .preempted)], starts: [.job(try name(1))]))
  }

  @Test("no more are stopped than may run, and none where a place is about to be free") func fewest() throws {
    let scheduler = Scheduler(maximumActive: 2)
    let running = [try job(1, .normal, isBusy: true), try job(2, .normal, isBusy: true)]
    var twins = [try job(3, .now, isBusy: false), try job(4, .now, isBusy: false)]
    twins[1].product = twins[0].product
    #expect(scheduler.plan(for: running + twins, in: .init()).holds.count == 1)
    // One of the two is paused, or what it has staged is removed: its place is free in a moment.
    var paused = running
    paused[1].isWanted = false
    let urgent = try job(3, .now, isBusy: false)
    let plan = scheduler.plan(for: paused + [urgent], in: .init())
    #expect(plan == .init(holds: [.init(job: try name(2), condition: .noReader)]))
    var ending = running
    ending[1].isInterruptible = false
    ending[1].isEnding = true
    #expect(scheduler.plan(for: ending + [urgent], in: .init()) == .init())
  }

  @Test("a job that was stopped and is wanted now itself waits for its turn, not for others") func raised()
    throws
  {
    let raised = try job(1, .now, isBusy: false, holds: [.preempted])
    let other = try job(2, .now, isBusy: true)
    #expect(
      Scheduler(maximumActive: 1).plan(for: [raised, other], in: .init())
        == .init(releases: [.init(job: try name(1), condition: .preempted)]))
  }
  private func environment(_ change: (inout MachineObservation) -> Void) -> Scheduler.Environment {
    var ledger = ConditionLedger()
    let (now, wall) = (MonotonicInstant(nanoseconds: 1), Timestamp(millisecondsSinceEpoch: 1))
    ledger.note(MachineObservation(change), from: .networkManager, at: now, wall: wall)
    _ = ledger.settle(at: now, wall: wall)
    return Scheduler.Environment(machine: ledger.conditions)
  }

  @Test("on a metered way downloads wait from 10 MiB on, and what a person wants now goes") func metered()
    throws
  {
    let scheduler = Scheduler(maximumActive: 3)
    let metered = environment { $0.isMetered = true }
    func plan(_ change: (inout Scheduler.Candidate) -> Void) throws -> Scheduler.Plan {
      var job = try job(1, .background, isBusy: true)
      job.bytesMissing = .mebibytes(10)
      change(&job)
      return scheduler.plan(for: [job], in: metered)
    }
    let hold = Scheduler.Plan(holds: [.init(job: try name(1), condition: .metered)])
    #expect(try plan { _ in } == hold)
    #expect(try plan { $0.urgency = .normal } == hold)
    #expect(try plan { $0.urgency = .now } == hold, "no person has asked for it")
    #expect(try plan { $0.bytesMissing = .mebibytes(10) - ByteCount(1) } == .init())
    #expect(try plan { $0.passesLimits = true } == .init())
    #expect(try plan { $0.ignored = [.metered] } == .init())
    #expect(try plan { $0.ignored = [.batteryLow] } == hold)
    #expect(try plan { $0.usesNetwork = false } == .init(), "it is being placed")
  }

  @Test("nobody passes a way that leads nowhere, nor a machine that is about to sleep") func nowhere() throws
  {
    let scheduler = Scheduler(maximumActive: 3)
    var job = try job(1, .now, isBusy: true)
    job.passesLimits = true
    job.ignored = MachineConditionName.ignorable
    let none = environment { $0.way = NetworkWay.none }
    #expect(
      scheduler.plan(for: [job], in: none) == .init(holds: [.init(job: try name(1), condition: .offline)]))
    let leaving = environment { $0.isLeaving = true }
    #expect(
      scheduler.plan(for: [job, try candidate(2)], in: leaving)
        == .init(holds: [.init(job: try name(1), condition: .asleep)]))
  }

  @Test("on a busy machine half of the places are left to what is wanted now") func busy() throws {
    let scheduler = Scheduler(maximumActive: 4)
    let busy = environment { $0.isBusy = true }
    let running = try (1...4).map { try job(Int64($0), .background, isBusy: true) }
    #expect(
      scheduler.plan(for: running, in: busy)
        == .init(holds: [
          .init(job: try name(3), condition: .busy), .init(job: try name(4), condition: .busy),
        ]))
    let urgent = try (1...4).map { try job(Int64($0), .now, isBusy: true) }
    #expect(scheduler.plan(for: urgent, in: busy) == .init())
    let one = Scheduler(maximumActive: 1)
    #expect(one.plan(for: [running[0]], in: busy) == .init(), "one is always let through")
  }
}

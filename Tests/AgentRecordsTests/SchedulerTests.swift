import Commerce
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

  @Test("nothing starts while the agent drains") func drained() throws {
    let scheduler = Scheduler(maximumActive: 3)
    let (one, two) = (try job(1), try job(2))
    let draining = Scheduler.Environment(isDraining: true)
    #expect(scheduler.plan(for: [one, two, try candidate(3)], in: draining).starts.isEmpty)
  }
}

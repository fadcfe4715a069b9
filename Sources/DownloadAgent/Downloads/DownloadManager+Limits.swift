import AgentRecords
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceRuntime

// How fast, when, and how much a month.
extension DownloadManager {
  /// The pacer of all transfers, which counts their bytes.
  private var pacer: TransferPacer { jobSteps.pacer }

  /// Reads what was counted; downloads run within the limits from then on. Throws what the database throws.
  func restoreLimits() throws {
    limitState = LimitState(
      limitState.limits, calendar: calendar, budget: NetworkBudget(try database.budgetPeriods()))
    if limitState.limits.budget != nil { try beginCounting() }
    lookAtLimits()
  }

  /// Other limits, for downloads that run as well: no connection ends. Throws what the database throws, and then all stays as it was.
  func setLimits(_ limits: DownloadLimits) throws {
    guard limits != limitState.limits else { return }
    // Before the clock is looked at: a period that begins now begins at the count.
    if limits.budget != nil { try beginCounting() }
    pacer.setRate(limits.rate)
    limitState.setLimits(limits)
    lookAtLimits()
    schedule()
    runner.wakeUp.signal()
  }

  /// Bytes are counted once there is a budget, from what was counted before on. Where it is gone, the count goes on, and bounds nothing.
  private func beginCounting() throws {
    guard pacer.meter == nil else { return }
    let wakeUp = runner.wakeUp
    pacer.count(by: ByteMeter(counted: try database.networkCount()), onSpent: { wakeUp.signal() })
  }

  /// Looks at the clock and at the count, and changes the environment; ``schedule()`` follows.
  func lookAtLimits() {
    let hasTurned = limitState.look(
      wall: steps.clock.now(), at: clock.now(), count: pacer.meter?.counted ?? .zero)
    if hasTurned { areBudgetPeriodsSaved = false }
    saveBudgetPeriods()
    pacer.setLimit(limitState.countLimit)
    environment.outsideWindowUntil = limitState.opens
    environment.budgetSpentUntil = pacer.meter?.isSpent == true ? limitState.budgetEnds : nil
  }

  /// Looks whether the clock was set, or the zone is another one: nothing else tells. Called now and then.
  func lookAtClock() {
    guard isRestored, !runner.isStopping else { return }
    let (before, next) = (environment, limitState.nextChange)
    lookAtLimits()
    if environment != before { schedule() }
    // The loop waits for the time that it knew.
    if limitState.nextChange != next { runner.wakeUp.signal() }
  }

  /// Where that fails, the next look tries again.
  private func saveBudgetPeriods() {
    guard !areBudgetPeriodsSaved else { return }
    do {
      try database.makingRoom { try database.setBudgetPeriods(limitState.budget.periods) }
      areBudgetPeriodsSaved = true
    } catch {
      log.warning("the budget's periods cannot be saved", ["error": LogValue(error)])
    }
  }

  /// Saves the count to the byte, once no transfer runs.
  func endCounting() {
    guard let meter = pacer.meter else { return }
    do {
      try networkCount.close(at: meter.counted)
    } catch {
      // The count on the device is ahead, by a piece at most.
      log.warning("the count of received bytes cannot be saved", ["error": LogValue(error)])
    }
  }

  /// The time until a window opens or closes, or the budget begins anew; nil where nothing does.
  var timeToNextLimit: Duration? {
    limitState.nextChange.map { max(.zero, $0 - steps.clock.now()) }
  }

  /// The limits and what is used; nil where none is set.
  var networkLimits: NetworkLimits? { limitState.status(count: pacer.meter?.counted ?? .zero) }

  /// Gives each transfer the part of the rate that its downloads have.
  func setPaces(of candidates: [Scheduler.Candidate]) {
    for candidate in candidates {
      guard case .job(let identifier) = candidate.work else { continue }
      jobs[identifier]?.context.progress.pace?.set(
        RateShares.Claim(urgency: candidate.urgency, priority: candidate.priority),
        passesBudget: candidate.passesLimits)
      setPriority(of: candidate, identifier)
    }
  }

  /// Lets bytes through until the task is cancelled.
  nonisolated func runPacer() async {
    let (pacer, record) = (jobSteps.pacer, networkCount)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await pacer.run() }
      group.addTask { await pacer.runSaving { try record.save($0) } }
    }
  }
}

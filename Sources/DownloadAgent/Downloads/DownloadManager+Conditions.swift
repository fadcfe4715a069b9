import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

// The conditions of the machine, and what persons have downloads pass.
extension DownloadManager {
  /// The machine as it is now: work is held and released by it. Of words that overtake each other the one with the highest number counts.
  func setMachine(_ machine: MachineConditions, number: UInt64) {
    guard number > machineNumber else { return }
    machineNumber = number
    changeEnvironment { $0.machine = machine }
  }

  /// Other rules for conditions of the machine, for downloads that run as well.
  func setPolicy(_ policy: MachinePolicy) {
    changeEnvironment { $0.policy = policy }
  }

  /// The way to the services is another one than before: what waited for it goes on.
  func wayAppeared() {
    cancelRetries(\.isOfTheWay)
    schedule()
    runner.wakeUp.signal()
  }

  /// Returns when no step transfers any more, for a machine that is about to sleep. What is being placed goes on.
  func rest() async {
    let steps = jobs.entries.values.filter { $0.record.machine.state != .active }.compactMap(\.step)
    for step in steps { await step.value }
    for identifier in jobs.entries.keys { saveProgress(of: identifier) }
  }

  /// A job's writing stands back for other programs where it is in the background, and on a busy machine where nothing of it is wanted
  /// now: there it also goes over half of its connections. What is wanted now stands back for none.
  func setPriority(of candidate: Scheduler.Candidate, _ identifier: ContentJobIdentifier) {
    let isBusy = environment.policy.holds(in: environment.machine)[.busy] != nil
    let priority: ThreadPriority =
      switch candidate.urgency {
      case .now: .normal
      case .normal: isBusy ? .background : .ofProcess
      case .background: .background
      }
    jobs[identifier]?.context.progress.setYielding(isBusy && candidate.urgency != .now)
    guard jobs[identifier]?.context.progress.setPriority(priority) == true,
      let session = jobSteps.sessions.session(of: identifier)
    else { return }
    // Unstructured: the session may be busy with a piece, and takes it over behind that.
    Task { await session.setPriority(priority) }
  }

  /// How many downloads wait for each condition.
  var machineHoldCounts: [MachineConditionName: Int] {
    var counts: [MachineConditionName: Int] = [:]
    for entry in runner.entries.values where !entry.record.isHistory {
      let status = status(of: entry.record)
      guard status.state == .waiting else { continue }
      if let name = StatusReason(rawValue: status.reason).machineCondition { counts[name, default: 0] += 1 }
    }
    return counts
  }

  /// The condition of the machine that is waited for, with who tells it; nil for other reasons, and for one that has just ended.
  func condition(behind reason: StatusReason) -> DownloadCondition? {
    guard let name = reason.machineCondition,
      let told = environment.policy.told(name, in: environment.machine), told.value
    else { return nil }
    return DownloadCondition(
      name: name, source: told.source.rawValue, device: told.device, since: told.since)
  }

  /// The downloads of the transaction pass these conditions. Throws what the database throws.
  func noteIgnored(_ ignored: [IgnoredCondition], of transaction: TransactionIdentifier) throws {
    let records = runner.entries.values.map(\.record).filter { $0.transaction == transaction }
    try noteIgnored(ignored, of: records.map(\.identifier))
  }

  /// The downloads pass these conditions from now on, and those that they passed before where `keepsOthers`. Throws what the database throws.
  func noteIgnored(
    _ ignored: [IgnoredCondition], of downloads: [DownloadIdentifier], keepsOthers: Bool = false
  ) throws {
    let names = Set(ignored.map(\.name))
    for identifier in downloads {
      try runner.update(identifier) { record in
        record.ignored = (keepsOthers ? record.ignored.filter { !names.contains($0.name) } : []) + ignored
      }
      publish(identifier)
    }
    schedule()
  }
}

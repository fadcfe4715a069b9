import AgentRecords
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceAPI

extension DownloadManager {
  /// Changes the environment. Jobs are held or released if it is different then. The environment is what
  /// holds all jobs: the library is away, the agent stops.
  func changeEnvironment(_ change: (inout Scheduler.Environment) -> Void) {
    let before = environment
    change(&environment)
    if environment != before { schedule() }
  }

  /// Holds and releases jobs, and gives places to what waits for one. Does nothing before everything is
  /// restored, and while the agent stops. It may be called as often as something changes: a plan follows from
  /// the state alone.
  func schedule() {
    guard isRestored, !runner.isStopping else { return }
    let jobCandidates = jobCandidates
    setPaces(of: jobCandidates)
    let plan = scheduler.plan(for: downloadCandidates + jobCandidates, in: environment)
    for change in plan.holds { processJob(.held(change.condition), of: change.job) }
    for change in plan.releases { processJob(.released(change.condition), of: change.job) }
    for work in plan.starts {
      switch work {
      case .download(let identifier): process(.started, of: identifier)
      case .job(let identifier): processJob(.started, of: identifier)
      }
    }
  }

  /// A download that is read by a program which may say so is wanted now, for as long as it is.
  private func urgency(of record: DownloadRecord) -> DownloadUrgency {
    isHastened(record.identifier) ? .now : record.urgency
  }

  /// Those that are at work or could be. A download takes a place while it asks for a grant or is checked;
  /// the content is its job's. One that is wanted now asks at once, whatever runs, and keeps a place for its content meanwhile: nothing
  /// is stopped for a question that may be refused.
  private var downloadCandidates: [Scheduler.Candidate] {
    runner.entries.compactMap { identifier, entry in
      let (record, machine) = (entry.record, entry.record.machine)
      let urgency = urgency(of: record)
      let isBusy = entry.step != nil || machine.state == .active
      guard isBusy || machine.isReady else { return nil }
      return Scheduler.Candidate(
        work: .download(identifier), product: record.product, urgency: urgency,
        priority: record.priority, sequence: record.sequence,
        isReady: machine.isReady && runner.isDue(identifier), isBusy: isBusy,
        needsPlace: urgency != .now && (machine.phase == .grant || machine.isChecked),
        keepsPlace: urgency == .now && machine.phase != .report && !machine.isChecked)
    }
  }

  /// A job goes as the first of its readers would, and is as urgent as the most urgent one that waits for it.
  private var jobCandidates: [Scheduler.Candidate] {
    jobs.entries.compactMap { identifier, entry in
      guard entry.record.machine.isLive || entry.step != nil else { return nil }
      let (record, machine) = (entry.record, entry.record.machine)
      let readers = (claims[record.digest] ?? []).compactMap { runner[$0]?.record }
      let waiting = readers.filter(\.machine.awaitsJob)
      let missing = (record.bytesNeeded ?? record.terms.length) - entry.context.progress.bytesVerified
      return Scheduler.Candidate(
        work: .job(identifier), product: record.terms.product,
        urgency: waiting.map(urgency).max() ?? .background,
        priority: readers.map(\.priority).max() ?? 0, sequence: readers.map(\.sequence).min() ?? 0,
        // The plan says which of its holds are over.
        isReady: machine.state == .waiting && jobs.isDue(identifier),
        isBusy: entry.step != nil || machine.state == .active, needsPlace: true,
        isInterruptible: machine.state == .active && machine.phase != .place
          && machine.reason != .renewingTicket,
        isEnding: !machine.isLive, bytesMissing: missing,
        holds: machine.holds, isWanted: !waiting.isEmpty, usesNetwork: machine.phase != .place,
        passesLimits: waiting.contains(where: \.passesLimits),
        ignored: Set(waiting.flatMap { $0.ignored.map(\.name) }))
    }
  }
}

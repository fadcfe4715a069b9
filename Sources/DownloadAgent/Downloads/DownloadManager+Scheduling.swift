import Commerce
import PullboxAPI

extension DownloadManager {
  /// Gives places to downloads and jobs that wait for one.
  func schedule() {
    guard isRestored, !runner.isStopping else { return }
    for work in scheduler.selection(from: downloadCandidates + jobCandidates) {
      switch work {
      case .download(let identifier): process(.started, of: identifier)
      case .job(let identifier): processJob(.started, of: identifier)
      }
    }
  }

  private var downloadCandidates: [Scheduler.Candidate] {
    runner.entries.compactMap { identifier, entry in
      let (record, machine) = (entry.record, entry.record.machine)
      let isBusy = entry.step != nil || machine.state == .active
      guard isBusy || machine.isReady else { return nil }
      return Scheduler.Candidate(
        work: .download(identifier), product: record.product, priority: record.priority,
        sequence: record.sequence, isReady: machine.isReady && runner.isDue(identifier), isBusy: isBusy,
        needsPlace: machine.phase == .grant)
    }
  }

  /// A job goes as the first of its readers would.
  private var jobCandidates: [Scheduler.Candidate] {
    jobs.entries.map { identifier, entry in
      let (record, machine) = (entry.record, entry.record.machine)
      let readers = (claims[record.digest] ?? []).compactMap { runner[$0]?.record }
      return Scheduler.Candidate(
        work: .job(identifier), product: record.terms.product,
        priority: readers.map(\.priority).max() ?? 0, sequence: readers.map(\.sequence).min() ?? 0,
        isReady: machine.isReady && jobs.isDue(identifier),
        isBusy: entry.step != nil || machine.state == .active, needsPlace: true)
    }
  }
}

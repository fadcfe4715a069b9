import AgentRecords
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceAPI
import ServiceRuntime

// Speed and time remaining, over all steps of a download (docs/estimator.md).
extension DownloadManager {
  /// The estimate of now for a download; `job` is the one that brings its content, with the counts of this moment.
  func estimate(of record: DownloadRecord, _ job: ContentJobRecord?) -> ProgressEstimator.Estimate {
    let now = clock.now()
    if record.machine.state == .finished { return .init(speed: 0, timeRemaining: 0) }
    if record.machine.awaitsJob, let job, job.machine.state == .active {
      let length = job.terms.length
      switch job.machine.phase {
      case .manifest: break
      case .transfer:
        let estimate = jobs[job.identifier]?.context.estimator.estimate(
          remaining: length - job.bytesVerified, tail: phaseTimes.tail(of: length), at: now)
        if let estimate { return estimate }
      case .place:
        let since = jobs[job.identifier]?.context.placingSince
        return .init(
          speed: 0,
          timeRemaining: since.flatMap { phaseTimes.remaining(ofPlacing: length, after: now - $0) })
      }
    }
    if record.machine.state == .active, record.machine.phase == .report,
      let since = runner[record.identifier]?.context.reportingSince
    {
      return .init(speed: 0, timeRemaining: phaseTimes.remaining(ofReportAfter: now - since))
    }
    return .init(speed: 0)
  }

  /// Notes when a job begins to place its content, and how long it took. A failure or a stop measures nothing.
  func measurePlacing(_ before: ContentJobMachine, _ job: ContentJobRecord) {
    let isPlacing = job.machine.state == .active && job.machine.phase == .place
    let wasPlacing = before.state == .active && before.phase == .place
    if isPlacing, !wasPlacing { jobs[job.identifier]?.context.placingSince = clock.now() }
    guard wasPlacing, job.machine.state == .finished,
      let since = jobs[job.identifier]?.context.placingSince
    else { return }
    phaseTimes.notePlacing(of: job.terms.length, in: clock.now() - since)
    savePhaseTimes()
  }

  /// Notes when a download begins to report, and how long it took until the server had taken that in.
  func measureReport(_ before: DownloadMachine, _ record: DownloadRecord) {
    let isReporting = record.machine.state == .active && record.machine.phase == .report
    let wasReporting = before.state == .active && before.phase == .report
    if isReporting, !wasReporting { runner[record.identifier]?.context.reportingSince = clock.now() }
    guard wasReporting, record.machine.state == .finished,
      let since = runner[record.identifier]?.context.reportingSince
    else { return }
    phaseTimes.noteReport(in: clock.now() - since)
    savePhaseTimes()
  }

  /// Times that changed by less than a fifth are not worth a write.
  private func savePhaseTimes() {
    guard phaseTimes.differs(from: savedPhaseTimes) else { return }
    do {
      try database.makingRoom { try database.setPhaseTimes(phaseTimes) }
      savedPhaseTimes = phaseTimes
    } catch {
      // The next download measures them again.
      log.warning("the times of a download's steps cannot be saved", ["error": LogValue(error)])
    }
  }
}

import Commerce
import CoreTypes
import PullboxAPI

extension DownloadManager {
  /// Every download, oldest first.
  func statuses() -> [DownloadStatus] {
    runner.entries.values.sorted { $0.record.sequence < $1.record.sequence }.map { status(of: $0) }
  }

  /// Throws the ``Problem`` for a download there is not.
  func status(_ identifier: DownloadIdentifier) throws -> DownloadStatus {
    status(of: try entry(identifier))
  }

  /// Pauses, resumes or cancels a download, and returns its status after that. Throws `download-unknown`, or
  /// `state-conflict` for what does not fit the state.
  func request(_ event: DownloadMachine.Event, of identifier: DownloadIdentifier) throws -> DownloadStatus {
    let entry = try entry(identifier)
    let before = entry.record.machine.state
    if event == .cancelRequested, isPlacing(entry.record) {
      throw Problem(.stateConflict, "the content is being placed")
    }
    guard let actions = process(event, of: identifier) else {
      throw Problem(.internalError, "the agent's state cannot be saved")
    }
    if actions.contains(.reject) {
      throw Problem(.stateConflict, "the download is \(before.rawValue)")
    }
    inbox.noteChange(of: entry.record.transaction)
    return status(of: try self.entry(identifier))
  }

  func setPriority(_ priority: Int, of identifier: DownloadIdentifier) throws -> DownloadStatus {
    _ = try entry(identifier)
    try runner.update(identifier) { $0.priority = priority }
    publish(identifier)
    schedule()
    return try status(identifier)
  }

  /// How the downloads of a transaction stand, in the order of their creation.
  func outcomes(of transaction: TransactionIdentifier) -> [TransactionMachine.Outcome] {
    records(of: transaction).map(\.outcome)
  }

  func downloads(of transaction: TransactionIdentifier) -> [DownloadIdentifier] {
    records(of: transaction).map(\.identifier)
  }

  /// A grant of the transaction that was reported, to ask the server about.
  func grant(of transaction: TransactionIdentifier) -> GrantIdentifier? {
    records(of: transaction).last { $0.machine.state == .finished }?.grant
  }

  func publish(_ identifier: DownloadIdentifier) {
    guard let entry = runner[identifier] else { return }
    hub.publish(.download(status(of: entry)))
  }

  private func isPlacing(_ record: DownloadRecord) -> Bool {
    guard let job = job(of: record)?.record.machine else { return false }
    return job.state == .active && job.phase == .place
  }

  private func job(of record: DownloadRecord) -> JobRunner.Entry? {
    record.claimedDigest.flatMap { jobsByDigest[$0] }.flatMap { jobs[$0] }
  }

  private func status(of entry: Runner.Entry) -> DownloadStatus {
    let record = entry.record
    let job = job(of: record)
    var working = job?.record
    if let job, var record = working {
      job.context.progress.copy(into: &record)
      working = record
    }
    let isTransferring = record.machine.awaitsJob && job?.record.machine.isTransferring == true
    let estimate =
      if isTransferring, let job, let working {
        job.context.estimator.estimate(
          remaining: working.terms.length - working.bytesVerified, at: clock.now())
      } else {
        ProgressEstimator.Estimate(speed: 0, timeRemaining: record.machine.state == .finished ? 0 : nil)
      }
    return record.status(working, estimate)
  }

  private func records(of transaction: TransactionIdentifier) -> [DownloadRecord] {
    runner.entries.values.map(\.record).filter { $0.transaction == transaction }.sorted {
      $0.sequence < $1.sequence
    }
  }

  private func entry(_ identifier: DownloadIdentifier) throws(Problem) -> Runner.Entry {
    guard let entry = runner[identifier] else {
      throw Problem(.downloadUnknown, "no download is called \(identifier)")
    }
    return entry
  }
}

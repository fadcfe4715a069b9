import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import SystemCalls

extension DownloadManager {
  /// The download waits for its digest's job, which begins if there is none. Terms that came later replace
  /// those of the job where they are of the same manifest, or nothing that waits has brought the job's. Where it cannot be told which sections
  /// are here, the download waits as behind a step that failed: its job would bring a version without them.
  func joinJob(_ identifier: DownloadIdentifier) {
    guard let record = runner[identifier]?.record, let terms = record.terms, let grant = record.grant else {
      return
    }
    let sections: Set<SectionTag>
    do {
      sections = try self.sections(for: record)
    } catch {
      let failure = StepFailure(error)
      logFailure(failure, of: "download", identifier.description)
      process(.joinFailed(failure), of: identifier)
      return
    }
    if let known = jobsByDigest[terms.digest], let job = jobs[known]?.record {
      let isSameManifest = job.terms.manifestDigest == terms.manifestDigest
      // What a step works with stays as it is; what it does not bring is fetched afterwards. Tags of another product mean nothing here.
      if isSameManifest, jobs[known]?.step == nil, job.machine.phase != .place {
        addSections(sections, to: known)
      }
      // Another product's download shares what is fetched, and finds its own files by it afterwards.
      if isSameManifest || !isWorked(job) {
        processJob(.termsRenewed(isSameManifest: isSameManifest), of: known) { job in
          job.terms = terms
          job.grant = grant
          if !isSameManifest {
            job.sections = sections
            job.bytesNeeded = nil
          }
          if record.machine.hasFetchedEverything { job.fetchesEverything = true }
        }
      }
    } else {
      var job = ContentJobRecord(identifier: .random(), grant: grant, terms: terms)
      job.bytesReceived = record.bytesReceived
      job.sections = sections
      job.fetchesEverything = record.machine.hasFetchedEverything
      jobs.insert(job, context: JobActivity(job, jobSteps.pacer, changes: readingChanges), isSaved: false)
      jobsByDigest[terms.digest] = job.identifier
      processJob(.termsRenewed(isSameManifest: true), of: job.identifier)
    }
  }

  /// Whether one of the downloads that wait for the job has brought its manifest.
  private func isWorked(_ job: ContentJobRecord) -> Bool {
    guard job.machine.state == .waiting || job.machine.state == .active else { return false }
    return (claims[job.digest] ?? []).contains { identifier in
      guard let record = runner[identifier]?.record, record.machine.awaitsJob else { return false }
      return record.terms?.manifestDigest == job.terms.manifestDigest
    }
  }

  /// One transition of a job, as ``process(_:of:change:)`` does it for a download. Observers of all its
  /// downloads are told of a change.
  ///
  /// - Parameter change: made to the record in the same write.
  func processJob(
    _ event: ContentJobMachine.Event, of identifier: ContentJobIdentifier,
    change: (inout ContentJobRecord) -> Void = { _ in }
  ) {
    guard let progress = jobs[identifier]?.context.progress else { return }
    let now = jobSteps.clock.now()
    let outcome = jobs.process(event, of: identifier) { record in
      change(&record)
      progress.copy(into: &record)
      record.failedAt = record.machine.state == .failed ? record.failedAt ?? now : nil
    }
    guard let transition = outcome else { return }
    let (machine, digest) = (transition.after.machine, transition.after.digest)
    if let error = transition.saveError {
      log.error("a job's state cannot be saved", ["job": "\(identifier)", "error": LogValue(error)])
    } else if machine != transition.before.machine {
      log.debug(
        "job",
        [
          "job": "\(identifier)", "state": "\(machine.state)", "phase": "\(machine.phase)",
          "reason": "\(machine.reason)",
        ])
    }
    measurePlacing(transition.before.machine, transition.after)
    // Of its end they are told, and say what follows.
    if machine != transition.before.machine, machine.state != .finished { publishReaders(of: digest) }
    perform(transition.actions, on: identifier)
    if machine.state != .active { jobs[identifier]?.context.estimator.reset() }
  }

  /// Performs them in their order. The schedule is made once, after them.
  private func perform(_ actions: [ContentJobMachine.Action], on identifier: ContentJobIdentifier) {
    var isScheduleDue = false
    for action in actions {
      switch action {
      case .run, .renewTicket: start(action, of: identifier)
      case .reschedule: isScheduleDue = true
      case .requestTerms(let failure, let madeProgress):
        for reader in readers(of: identifier) {
          process(.termsNeeded(failure, madeProgress: madeProgress), of: reader)
        }
      case .notifyDownloads: notifyDownloads(of: identifier)
      case .discard: discard(identifier)
      case .stop, .scheduleRetry: preconditionFailure("the runner performs these itself")
      }
    }
    if isScheduleDue { schedule() }
  }

  /// Tells each download the end of the job, with its counts. A finished job leaves its digest first, so that
  /// what a download asks for then begins another.
  private func notifyDownloads(of identifier: ContentJobIdentifier) {
    guard let job = jobs[identifier]?.record else { return }
    let readers = readers(of: identifier)
    let isFinished = job.machine.state == .finished
    if isFinished {
      // From here on the digest may have a new job.
      jobsByDigest[job.digest] = nil
      discard(identifier)
    }
    for reader in readers {
      let known = runner[reader]?.record
      // A section that it did not bring is fetched by the next job.
      let isOwn =
        known?.terms?.manifestDigest == job.terms.manifestDigest
        && known?.sections.isSubset(of: job.sections) != false
      let success: DownloadMachine.Event = isOwn ? .contentReady : .relatedContentReady
      process(isFinished ? success : .contentFailed(job.failure), of: reader) { record in
        record.bytesVerified = job.bytesVerified
        record.bytesReceived = job.bytesReceived
        record.bytesReused = job.bytesReused
        record.bytesNeeded = job.bytesNeeded
      }
    }
  }

  /// The downloads that claim the job, the oldest first.
  func readers(of identifier: ContentJobIdentifier) -> [DownloadIdentifier] {
    guard let digest = jobs[identifier]?.record.digest else { return [] }
    return (claims[digest] ?? []).compactMap { runner[$0]?.record }.sorted { $0.sequence < $1.sequence }
      .map(\.identifier)
  }

  /// All downloads that claim the digest.
  func publishReaders(of digest: SHA256Digest) {
    for reader in claims[digest] ?? [] { publish(reader) }
  }

  /// Runs the step in a task of its own. Nothing starts while the agent stops.
  private func start(_ action: ContentJobMachine.Action, of identifier: ContentJobIdentifier) {
    guard let entry = jobs[identifier], !jobs.isStopping else { return }
    jobs.wakeUp.signal()
    jobs.startStep(of: identifier) { [jobSteps, opening = stagedOpenings[identifier]] in
      await opening?.value
      let outcome = await jobSteps.run(
        action, of: entry.record, progress: entry.context.progress, demand: entry.context.demand)
      await self.endStep(of: identifier, with: outcome)
    }
  }

  /// A step that ends after its job has been paused or given up leaves its progress and no event.
  private func endStep(of identifier: ContentJobIdentifier, with outcome: ContentJobSteps.Outcome?) {
    jobs.endStep(of: identifier)
    guard let record = jobs[identifier]?.record, !jobs.isStopping else { return }
    // What a step has placed is there, whatever has become of the job meanwhile.
    if let placed = outcome?.placed { hub.publish(.library(LibraryEvent(change: .placed, item: placed))) }
    if let outcome, record.machine.state == .active {
      if case .stepFailed(let failure, _, _) = outcome.event {
        logFailure(failure, of: "job", identifier.description)
        if failure.reason == .integrity { reports.add(record.grant, record.terms) }
      }
      processJob(outcome.event, of: identifier, change: outcome.change)
    } else {
      saveProgress(of: identifier)
    }
    if let entry = jobs[identifier], entry.context.discardIsDue, entry.step == nil { discard(identifier) }
    schedule()
  }

  /// Removes the staged bytes, once no step uses them, and then the job; it is busy until they are gone.
  private func discard(_ identifier: ContentJobIdentifier) {
    guard let entry = jobs[identifier] else { return }
    guard entry.step == nil else {
      jobs[identifier]?.context.discardIsDue = true
      return
    }
    jobs[identifier]?.context.discardIsDue = false
    jobSteps.sessions.remove(identifier)
    entry.context.progress.setVerified(.zero)
    let isRecorded = entry.record.machine.state == .finished
    let opening = stagedOpenings[identifier]
    jobs.startStep(of: identifier) { [jobSteps, log] in
      await opening?.value
      jobSteps.sessions.remove(identifier)
      do {
        try await jobSteps.library.discard(identifier, isRecorded: isRecorded)
      } catch {
        // The next start of the agent removes what is left.
        log.warning("staged files cannot be removed", ["job": "\(identifier)", "error": LogValue(error)])
      }
      await self.endDiscard(of: identifier)
    }
  }

  /// The end of a removal. The job goes from the records too, unless a download has claimed it again.
  private func endDiscard(of identifier: ContentJobIdentifier) {
    jobs.endStep(of: identifier)
    guard !jobs.isStopping else { return }
    // A download may have claimed it again meanwhile.
    if jobs[identifier]?.record.machine.isLive == false { remove(identifier) }
    schedule()
  }

  /// Gives up what failed jobs have staged, once it is old.
  func discardOldStaging() {
    let oldest = jobSteps.clock.now() - ContentJobRecord.stagingAge
    for (identifier, entry) in jobs.entries {
      guard let failedAt = entry.record.failedAt, failedAt <= oldest else { continue }
      processJob(.abandoned, of: identifier)
      for reader in readers(of: identifier) {
        // Only people see the count.
        try? runner.update(reader) { $0.bytesVerified = .zero }
      }
    }
  }

  /// Removes it from memory and from the database.
  private func remove(_ identifier: ContentJobIdentifier) {
    guard let record = jobs[identifier]?.record else { return }
    jobs.remove(identifier)
    if jobsByDigest[record.digest] == identifier { jobsByDigest[record.digest] = nil }
    removeRecord(of: identifier)
  }

  /// A failure is logged: the next start of the agent removes the record then.
  func removeRecord(of identifier: ContentJobIdentifier) {
    do {
      try database.makingRoom { try database.removeContentJob(identifier) }
    } catch {
      // The next start of the agent removes it.
      log.warning("a job's record cannot be removed", ["job": "\(identifier)", "error": LogValue(error)])
    }
  }

  /// A failure is logged: only people see these counts, and the staging area decides what is fetched.
  func saveProgress(of identifier: ContentJobIdentifier) {
    guard let progress = jobs[identifier]?.context.progress else { return }
    do {
      try jobs.update(identifier) { progress.copy(into: &$0) }
    } catch {
      // Only people see these counts; the staging area decides what is fetched.
      log.warning("progress cannot be saved", ["job": "\(identifier)", "error": LogValue(error)])
    }
  }
}

extension TransferProgress {
  /// Copies the counts of this moment.
  func copy(into record: inout ContentJobRecord) {
    record.bytesReceived = bytesReceived
    record.bytesVerified = bytesVerified
    record.bytesReused = bytesReused
  }
}

import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

extension DownloadManager {
  /// One transition: machine, disk, deeds. What cannot be persisted is not done: then the answer is nil, and a download that
  /// was at work waits and tries again.
  @discardableResult
  func apply(
    _ event: DownloadMachine.Event, to identifier: DownloadIdentifier,
    change: (inout DownloadRecord) -> Void = { _ in }
  ) -> [DownloadMachine.Action]? {
    guard var record = entries[identifier]?.record else { return [] }
    let before = record.machine
    let earlierDigest = record.terms?.digest
    let actions = record.machine.handle(event)
    change(&record)
    if record.terms?.digest != earlierDigest { entries[identifier]?.progress.setVerified(.zero) }
    entries[identifier]?.progress.copy(into: &record)
    do {
      try database.save(record)
    } catch {
      log.error(
        "a download's state cannot be saved", ["download": "\(identifier)", "error": LogValue(error)])
      var waiting = before
      let actions = waiting.handle(.stepFailed(.retry(.storageFailure), madeProgress: false))
      entries[identifier]?.record.machine = waiting
      perform(actions, on: identifier)
      if waiting.isReady { entries[identifier]?.retryAt = clock.now() + .seconds(5) }
      publish(identifier)
      return nil
    }
    entries[identifier]?.record = record
    if record.machine != before {
      log.debug(
        "download",
        [
          "download": "\(identifier)", "state": "\(record.machine.state)", "phase": "\(record.machine.phase)",
          "reason": "\(record.machine.reason)",
        ])
      publish(identifier)
    }
    perform(actions, on: identifier)
    return actions
  }

  private func perform(_ actions: [DownloadMachine.Action], on identifier: DownloadIdentifier) {
    var isScheduleDue = false
    for action in actions {
      switch action {
      case .run, .renewTicket: start(action, of: identifier)
      case .stop: entries[identifier]?.step?.cancel()
      case .scheduleRetry(let failures, let notBefore):
        let delay = retryPolicy.delay(failures: failures, notBefore: notBefore)
        entries[identifier]?.retryAt = clock.now() + delay
        wakeUp.signal()
      case .reschedule: isScheduleDue = true
      case .discardStaging: discard(identifier)
      case .settle:
        if let transaction = entries[identifier]?.record.transaction { inbox.noteChange(of: transaction) }
      case .reject: break
      }
    }
    if entries[identifier]?.record.machine.state != .active { entries[identifier]?.estimator.reset() }
    if isScheduleDue { schedule() }
  }

  /// Gives places to downloads that wait for one.
  func schedule() {
    guard !isStopping else { return }
    let candidates = entries.values.map { entry in
      Scheduler.Candidate(
        identifier: entry.record.identifier, product: entry.record.product,
        priority: entry.record.priority, sequence: entry.record.sequence,
        isReady: entry.record.machine.isReady,
        isBusy: entry.step != nil || entry.record.machine.state == .active,
        needsPlace: entry.record.machine.phase != .report)
    }
    for identifier in scheduler.selection(from: candidates) {
      entries[identifier]?.retryAt = nil
      apply(.started, to: identifier)
    }
  }

  private func start(_ action: DownloadMachine.Action, of identifier: DownloadIdentifier) {
    guard let entry = entries[identifier], !isStopping else { return }
    precondition(entry.step == nil, "a download has one step at a time")
    entries[identifier]?.session = nil
    wakeUp.signal()
    // A step outlives the call that starts it; it is kept here, and stop() cancels and awaits it.
    entries[identifier]?.step = Task { [steps] in
      let outcome = await steps.run(
        action, entry.record, session: entry.session, progress: entry.progress)
      stepEnded(identifier, outcome)
    }
  }

  private func stepEnded(_ identifier: DownloadIdentifier, _ outcome: DownloadSteps.Outcome?) {
    guard let entry = entries[identifier] else { return }
    entries[identifier]?.step = nil
    guard !isStopping else { return }
    if let outcome, entry.record.machine.state == .active {
      entries[identifier]?.session = outcome.session
      if let placed = outcome.placed { hub.publish(.library(LibraryEvent(change: .placed, item: placed))) }
      if let grant = entry.record.grant, let state = outcome.grantState {
        inbox.noteReport(of: entry.record.transaction, grant: grant, state: state)
      }
      note(outcome.event, identifier)
      apply(outcome.event, to: identifier, change: outcome.change)
    } else {
      entries[identifier]?.session = nil
      saveProgress(of: identifier)
    }
    if entries[identifier]?.discardIsDue == true, entries[identifier]?.step == nil { discard(identifier) }
    schedule()
  }

  /// Takes the staged bytes away, once nobody works on them; the download is busy until they are gone.
  private func discard(_ identifier: DownloadIdentifier) {
    guard let entry = entries[identifier] else { return }
    guard entry.step == nil else {
      entries[identifier]?.discardIsDue = true
      return
    }
    entries[identifier]?.discardIsDue = false
    entries[identifier]?.session = nil
    if entry.record.machine.phase == .grant { entry.progress.setVerified(.zero) }
    // As in start(_:of:): kept here, awaited by stop().
    entries[identifier]?.step = Task { [library = steps.library, log] in
      do {
        try await BlockingPool.shared.run { try library.discard(identifier) }
      } catch {
        // The next start of the agent removes what is left.
        log.warning(
          "staged files cannot be removed", ["download": "\(identifier)", "error": LogValue(error)])
      }
      stepEnded(identifier, nil)
    }
  }

  func saveProgress(of identifier: DownloadIdentifier) {
    guard let entry = entries[identifier] else { return }
    var record = entry.record
    entry.progress.copy(into: &record)
    guard
      record.bytesVerified != entry.record.bytesVerified
        || record.bytesReceived != entry.record.bytesReceived
    else { return }
    entries[identifier]?.record = record
    do {
      try database.save(record)
    } catch {
      // Shown to people only; the journal of the pieces is what counts.
      log.warning("progress cannot be saved", ["download": "\(identifier)", "error": LogValue(error)])
    }
  }

  private func note(_ event: DownloadMachine.Event, _ identifier: DownloadIdentifier) {
    guard case .stepFailed(let failure, _) = event else { return }
    log.info(
      "a step of a download did not succeed",
      [
        "download": "\(identifier)", "reason": "\(failure.reason)",
        "problem": LogValue(failure.problem?.description ?? "-"),
      ])
  }
}

extension TransferProgress {
  func copy(into record: inout DownloadRecord) {
    record.bytesReceived = bytesReceived
    // Where nothing is transferred, the record knows better: reuse and placing set it.
    if record.machine.phase == .transfer || record.machine.phase == .manifest {
      record.bytesVerified = bytesVerified
    }
  }
}

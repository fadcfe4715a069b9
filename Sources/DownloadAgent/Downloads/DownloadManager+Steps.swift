import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

extension DownloadManager {
  /// One transition, persisted before its actions are performed. Returns the actions; nil when the transition
  /// could not be persisted, and then a download that was at work waits and tries again.
  @discardableResult
  func process(
    _ event: DownloadMachine.Event, of identifier: DownloadIdentifier,
    change: (inout DownloadRecord) -> Void = { _ in }
  ) -> [DownloadMachine.Action]? {
    guard let activity = runner[identifier]?.context else { return [] }
    let transition = runner.process(event, of: identifier) { record in
      let earlierDigest = record.terms?.digest
      change(&record)
      if record.terms?.digest != earlierDigest { activity.progress.setVerified(.zero) }
      activity.progress.copy(into: &record)
    }
    guard let transition else { return [] }
    let machine = transition.after.machine
    if let error = transition.saveError {
      log.error(
        "a download's state cannot be saved", ["download": "\(identifier)", "error": LogValue(error)])
    } else if machine != transition.before.machine {
      log.debug(
        "download",
        [
          "download": "\(identifier)", "state": "\(machine.state)", "phase": "\(machine.phase)",
          "reason": "\(machine.reason)",
        ])
    }
    if transition.saveError != nil || machine != transition.before.machine { publish(identifier) }
    perform(transition.actions, on: identifier)
    return transition.saveError == nil ? transition.actions : nil
  }

  private func perform(_ actions: [DownloadMachine.Action], on identifier: DownloadIdentifier) {
    var isScheduleDue = false
    for action in actions {
      switch action {
      case .run, .renewTicket: start(action, of: identifier)
      case .reschedule: isScheduleDue = true
      case .discardStaging: discard(identifier)
      case .notifyTransaction:
        if let transaction = runner[identifier]?.record.transaction { inbox.noteChange(of: transaction) }
      case .reject: break
      case .stop, .scheduleRetry: preconditionFailure("the runner performs these itself")
      }
    }
    if runner[identifier]?.record.machine.state != .active { runner[identifier]?.context.estimator.reset() }
    if isScheduleDue { schedule() }
  }

  /// Gives places to downloads that wait for one.
  func schedule() {
    guard !runner.isStopping else { return }
    let candidates = runner.entries.values.map { entry in
      Scheduler.Candidate(
        identifier: entry.record.identifier, product: entry.record.product,
        priority: entry.record.priority, sequence: entry.record.sequence,
        isReady: entry.record.machine.isReady,
        isBusy: entry.step != nil || entry.record.machine.state == .active,
        needsPlace: entry.record.machine.phase != .report)
    }
    for identifier in scheduler.selection(from: candidates) { process(.started, of: identifier) }
  }

  private func start(_ action: DownloadMachine.Action, of identifier: DownloadIdentifier) {
    guard let entry = runner[identifier], !runner.isStopping else { return }
    runner[identifier]?.context.session = nil
    runner.wakeUp.signal()
    runner.startStep(of: identifier) { [steps] in
      let outcome = await steps.run(
        action, of: entry.record, session: entry.context.session, progress: entry.context.progress)
      await self.endStep(of: identifier, with: outcome)
    }
  }

  private func endStep(of identifier: DownloadIdentifier, with outcome: DownloadSteps.Outcome?) {
    runner.endStep(of: identifier)
    guard let record = runner[identifier]?.record, !runner.isStopping else { return }
    if let outcome, record.machine.state == .active {
      runner[identifier]?.context.session = outcome.session
      if let placed = outcome.placed { hub.publish(.library(LibraryEvent(change: .placed, item: placed))) }
      if let grant = record.grant, let state = outcome.grantState {
        inbox.noteReport(of: record.transaction, grant: grant, state: state)
      }
      logFailure(in: outcome.event, of: identifier)
      process(outcome.event, of: identifier, change: outcome.change)
    } else {
      runner[identifier]?.context.session = nil
      saveProgress(of: identifier)
    }
    if let entry = runner[identifier], entry.context.discardIsDue, entry.step == nil { discard(identifier) }
    schedule()
  }

  /// Removes the staged bytes, once no step uses them; the download is busy until they are gone.
  private func discard(_ identifier: DownloadIdentifier) {
    guard let entry = runner[identifier] else { return }
    guard entry.step == nil else {
      runner[identifier]?.context.discardIsDue = true
      return
    }
    runner[identifier]?.context.discardIsDue = false
    runner[identifier]?.context.session = nil
    if entry.record.machine.phase == .grant { entry.context.progress.setVerified(.zero) }
    runner.startStep(of: identifier) { [library = steps.library, log] in
      do {
        try await BlockingPool.shared.run { try library.discard(identifier) }
      } catch {
        // The next start of the agent removes what is left.
        log.warning(
          "staged files cannot be removed", ["download": "\(identifier)", "error": LogValue(error)])
      }
      await self.endStep(of: identifier, with: nil)
    }
  }

  func saveProgress(of identifier: DownloadIdentifier) {
    guard let progress = runner[identifier]?.context.progress else { return }
    do {
      try runner.update(identifier) { progress.copy(into: &$0) }
    } catch {
      // Only people see these counts; the journal of the pieces decides what is fetched.
      log.warning("progress cannot be saved", ["download": "\(identifier)", "error": LogValue(error)])
    }
  }

  private func logFailure(in event: DownloadMachine.Event, of identifier: DownloadIdentifier) {
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
    // In the other phases reuse and placing have set the record's count.
    if record.machine.phase == .transfer || record.machine.phase == .manifest {
      record.bytesVerified = bytesVerified
    }
  }
}

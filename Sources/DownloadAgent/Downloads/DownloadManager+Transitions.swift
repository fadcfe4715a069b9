import AgentRecords
import CoreTypes
import Crypto
import PullboxAPI
import ServiceRuntime
import SystemCalls

extension DownloadManager {
  /// One transition, persisted before its actions are performed. Returns the actions; nil when the transition
  /// could not be persisted, and then a download that was at work waits and tries again. Every transition
  /// goes this way: it ends with claims moved, actions performed, and what is over forgotten.
  ///
  /// - Parameter change: made to the record in the same write, after the event.
  @discardableResult
  func process(
    _ event: DownloadMachine.Event, of identifier: DownloadIdentifier,
    change: (inout DownloadRecord) -> Void = { _ in }
  ) -> [DownloadMachine.Action]? {
    let now = steps.clock.now()
    let outcome = runner.process(event, of: identifier) { record in
      change(&record)
      record.endedAt = record.machine.state.isFinal ? record.endedAt ?? now : nil
    }
    guard let transition = outcome else { return [] }
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
    measureReport(transition.before.machine, transition.after)
    if transition.saveError != nil || machine != transition.before.machine { publish(identifier) }
    moveClaim(of: identifier, from: transition.before.claimedDigest, to: transition.after.claimedDigest)
    perform(transition.actions, on: identifier)
    forgetIfOver(identifier)
    return transition.saveError == nil ? transition.actions : nil
  }

  /// Performs them in their order. The schedule is made once, after them.
  private func perform(_ actions: [DownloadMachine.Action], on identifier: DownloadIdentifier) {
    var isScheduleDue = false
    for action in actions {
      switch action {
      case .run(let phase): start(phase, of: identifier)
      case .reschedule: isScheduleDue = true
      case .joinJob: joinJob(identifier)
      case .hurryJob:
        if let job = runner[identifier]?.record.claimedDigest.flatMap({ jobsByDigest[$0] }) {
          processJob(.retryRequested, of: job)
        }
      case .notifyTransaction:
        if let transaction = runner[identifier]?.record.transaction { inbox.noteChange(of: transaction) }
      case .reject: break
      case .stop, .scheduleRetry, .scheduleCheck: preconditionFailure("the runner performs these itself")
      }
    }
    if isScheduleDue { schedule() }
  }

  /// Runs the step in a task of its own. Nothing starts while the agent stops.
  private func start(_ phase: DownloadMachine.Phase, of identifier: DownloadIdentifier) {
    guard let entry = runner[identifier], !runner.isStopping else { return }
    runner.startStep(of: identifier) { [steps] in
      let outcome = await steps.run(phase, of: entry.record)
      await self.endStep(of: identifier, with: outcome)
    }
  }

  /// A step that ends after its download was paused or cancelled leaves no event, but for one that was being
  /// checked.
  private func endStep(of identifier: DownloadIdentifier, with outcome: DownloadSteps.Outcome?) {
    runner.endStep(of: identifier)
    guard let record = runner[identifier]?.record, !runner.isStopping else { return }
    if let outcome {
      for item in outcome.changed { hub.publish(.library(LibraryEvent(change: .changed, item: item))) }
      if record.machine.state == .active || record.machine.isChecking {
        if let grant = record.grant, let state = outcome.grantState {
          inbox.noteReport(of: record.transaction, grant: grant, state: state)
        }
        if case .stepFailed(let failure) = outcome.event {
          logFailure(failure, of: "download", identifier.description)
        }
        process(outcome.event, of: identifier, change: outcome.change)
        fetch(outcome.sections, behind: record)
      }
    }
    forgetIfOver(identifier)
    schedule()
  }

  /// Removes a download that is over from memory, once its step has ended. Its record stays in the database.
  /// The history is pruned after every ``endsBetweenPrunings`` of them.
  func forgetIfOver(_ identifier: DownloadIdentifier) {
    guard let entry = runner[identifier], entry.record.isHistory, entry.step == nil, entry.isSaved else {
      return
    }
    runner.remove(identifier)
    endsSincePruning += 1
    guard endsSincePruning >= Self.endsBetweenPrunings else { return }
    endsSincePruning = 0
    do {
      try database.pruneDownloads(now: steps.clock.now())
    } catch {
      log.warning("the history of downloads cannot be pruned", ["error": LogValue(error)])
    }
  }

  /// `kind` says what `name` is: a download or a job.
  func logFailure(_ failure: StepFailure, of kind: String, _ name: String) {
    log.info(
      "a step did not succeed",
      [
        kind: "\(name)", "reason": "\(failure.reason)",
        "cause": LogValue(failure.cause ?? failure.problem?.description ?? "-"),
      ])
  }
}

// Claims: what a job is kept for.
extension DownloadManager {
  /// Keeps ``claims`` in step with the records. A digest that has lost its last claim loses its job.
  private func moveClaim(
    of identifier: DownloadIdentifier, from before: SHA256Digest?, to after: SHA256Digest?
  ) {
    if let before, before != after {
      claims[before]?.remove(identifier)
      if claims[before]?.isEmpty == true { claims[before] = nil }
    }
    if let after { claims[after, default: []].insert(identifier) }
    if let before, before != after { updateInterest(in: before) }
  }

  /// Gives the job of `digest` up when no download claims it.
  private func updateInterest(in digest: SHA256Digest) {
    guard claims[digest] == nil, let job = jobsByDigest[digest] else { return }
    processJob(.abandoned, of: job)
  }
}

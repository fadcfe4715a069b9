package import Commerce
package import CoreTypes
package import PullboxAPI
package import ServiceAPI

/// The one state machine of a content version, from draft over review and release to withdrawal. Pure; what
/// one version's release means for the others is ``RolloutPlan``'s.
///
///     var machine = VersionMachine()
///     try machine.handle(.submit, by: "ada")
///     try machine.handle(.approve(needsSecondKey: true), by: "bob")
///     try machine.handle(.release(.all), by: "ada")
///     // machine.state is .released
package struct VersionMachine: Hashable, Sendable {
  /// A release that waits for its date.
  package struct Schedule: Hashable, Sendable {
    /// When the version is to be released.
    package var at: Timestamp
    /// The devices that it is to be released to.
    package var share: RolloutPercentage
    /// The name of the operator key.
    package var by: String
  }

  /// The steps that operators and the server take.
  package enum Step: Hashable, Sendable {
    /// A draft, or a version that was rejected, is handed in for review.
    case submit
    /// `needsSecondKey`: not by the key that submitted.
    case approve(needsSecondKey: Bool)
    /// A reviewer sends it back, also once it was approved, until it is released.
    case reject
    /// It is released to that share at once; a superseded version comes back by it.
    case release(RolloutPercentage)
    /// It is to be released at a date, and stays what it is until then.
    case schedule(at: Timestamp, RolloutPercentage)
    /// A date that was set counts no more.
    case cancelSchedule
    /// It is taken back for good, with or without the downloads that run.
    case withdraw(stopsDownloads: Bool)
    /// Another version takes its place.
    case supersede
    /// Devices could not verify it: it is offered to no further one until it is released again.
    case pause

    /// The step in words, for refusals.
    package var name: String {
      switch self {
      case .submit: "submit"
      case .approve: "approve"
      case .reject: "reject"
      case .release, .schedule: "release"
      case .cancelSchedule: "cancel its release"
      case .withdraw: "withdraw"
      case .supersede: "supersede"
      case .pause: "pause"
      }
    }
  }

  /// Why a step is refused; nothing has changed then.
  package enum Refusal: Error, Hashable, Sendable {
    /// The step is none of this state.
    case state(VersionState)
    /// The key of that name submitted it.
    case needsSecondKey(String)
    /// All devices have it: there is nothing to give the others in its place.
    case isReleasedToAll
  }

  /// The state in the words of the contract.
  package var state: VersionState
  /// Only while released.
  package var share: RolloutPercentage?
  /// Only while approved, released or superseded.
  package var schedule: Schedule?
  /// The operator key that submitted it last; nil before.
  package var submittedBy: String?
  /// The operator key that approved it since; nil before.
  var approvedBy: String?
  /// Only when withdrawn.
  var downloadsAreStopped: Bool

  /// Creates the machine of a version as its row has it; without arguments, that of a draft that no key has submitted.
  package init(
    state: VersionState = .draft, share: RolloutPercentage? = nil, schedule: Schedule? = nil,
    submittedBy: String? = nil, approvedBy: String? = nil, downloadsAreStopped: Bool = false
  ) {
    self.state = state
    self.share = share
    self.schedule = schedule
    self.submittedBy = submittedBy
    self.approvedBy = approvedBy
    self.downloadsAreStopped = downloadsAreStopped
  }

  /// Takes the step. One that was taken before changes nothing and is no error; a submission or an approval
  /// may also be repeated, by the key that made it, after other keys have taken further steps. Throws why the
  /// step is refused.
  package mutating func handle(_ step: Step, by actor: String) throws(Refusal) {
    switch (step, state) {
    case (.submit, .draft), (.submit, .rejected):
      state = .submitted
      submittedBy = actor
      approvedBy = nil
    case (.submit, .submitted): break
    case (.submit, .approved), (.submit, .released), (.submit, .superseded):
      guard submittedBy == actor else { throw .state(state) }

    case (.approve(let needsSecondKey), .submitted):
      if needsSecondKey, let submittedBy, submittedBy == actor { throw .needsSecondKey(actor) }
      state = .approved
      approvedBy = actor
    case (.approve, .approved): break
    case (.approve, .released), (.approve, .superseded):
      guard approvedBy == actor else { throw .state(state) }

    case (.reject, .submitted), (.reject, .approved):
      state = .rejected
      schedule = nil
    case (.reject, .rejected): break

    // Releasing a superseded version again is how one rolls back.
    case (.release(let share), .approved), (.release(let share), .superseded):
      state = .released
      self.share = share
      schedule = nil
    case (.release(let share), .released):
      try mayBecome(share)
      self.share = share
      schedule = nil

    case (.schedule(let date, let share), .approved), (.schedule(let date, let share), .superseded):
      setSchedule(date, share, by: actor)
    case (.schedule(let date, let share), .released):
      try mayBecome(share)
      setSchedule(date, share, by: actor)

    case (.cancelSchedule, .approved), (.cancelSchedule, .released), (.cancelSchedule, .superseded):
      schedule = nil

    case (.withdraw(let stopsDownloads), .released), (.withdraw(let stopsDownloads), .superseded),
      (.withdraw(let stopsDownloads), .withdrawn):
      state = .withdrawn
      share = nil
      schedule = nil
      downloadsAreStopped = downloadsAreStopped || stopsDownloads

    case (.supersede, .released), (.pause, .released):
      state = .superseded
      share = nil
      // A scheduled release that was to follow this one is cancelled with it.
      schedule = nil

    default: throw .state(state)
    }
  }

  /// Throws ``Refusal/isReleasedToAll`` for a smaller share than all devices, which have it already.
  private func mayBecome(_ share: RolloutPercentage) throws(Refusal) {
    if self.share?.isAll == true, !share.isAll { throw .isReleasedToAll }
  }

  /// Sets the date. The same date and share again leave the schedule in the name of the key that set it first.
  private mutating func setSchedule(_ date: Timestamp, _ share: RolloutPercentage, by actor: String) {
    // Asked for again by another key, it stays in the name of the first.
    if let schedule, schedule.at == date, schedule.share == share { return }
    schedule = Schedule(at: date, share: share, by: actor)
  }
}

extension VersionRecord {
  /// The state machine in the state that the record has.
  package var machine: VersionMachine {
    get {
      VersionMachine(
        state: state, share: percentage.flatMap { RolloutPercentage(percentage: $0) },
        schedule: scheduled.flatMap { scheduled in
          RolloutPercentage(percentage: scheduled.percentage).map {
            VersionMachine.Schedule(at: scheduled.at, share: $0, by: scheduled.by)
          }
        }, submittedBy: submittedBy, approvedBy: approvedBy, downloadsAreStopped: downloadsStopped == true)
    }
    set {
      state = newValue.state
      percentage = newValue.share?.percentage
      scheduled = newValue.schedule.map {
        ScheduledRelease(at: $0.at, percentage: $0.share.percentage, by: $0.by)
      }
      submittedBy = newValue.submittedBy
      approvedBy = newValue.approvedBy
      downloadsStopped = newValue.downloadsAreStopped ? true : nil
    }
  }
}

extension Problem {
  /// Creates the problem that tells an operator why a step is refused.
  package init(
    _ refusal: VersionMachine.Refusal, to step: VersionMachine.Step, of product: ProductIdentifier,
    version: ContentVersion
  ) {
    switch refusal {
    case .state(let state):
      self.init(
        .stateConflict,
        "\(product) \(version) is \(state.rawValue); \(Self.way(to: step, from: state))")
    case .needsSecondKey(let name):
      self.init(
        .secondKeyRequired,
        "\(product) \(version) was handed in by the key \(name); this server wants another key's approval")
    case .isReleasedToAll:
      self.init(
        .stateConflict,
        "\(product) \(version) is released to all devices; release another version in its place, or withdraw it"
      )
    }
  }

  /// Returns the advice to the operator: the step to take in place of the refused one.
  private static func way(to step: VersionMachine.Step, from state: VersionState) -> String {
    switch (step, state) {
    case (_, .withdrawn): "what was withdrawn does not come back: publish its content as another version"
    case (.release, .draft), (.schedule, .draft), (.release, .rejected), (.schedule, .rejected):
      "submit and approve it before it is released"
    case (.release, .submitted), (.schedule, .submitted): "approve it before it is released"
    case (.approve, .draft), (.approve, .rejected), (.reject, .draft): "submit it first"
    case (.withdraw, _): "only what was released can be withdrawn"
    case (.cancelSchedule, _): "no release of it waits for a date"
    case (.submit, _): "it was approved already"
    case (.reject, _), (.approve, _): "it was released already; withdraw it to take it back"
    default: "it cannot take the step \(step.name)"
    }
  }
}

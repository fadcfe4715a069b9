import PullboxAPI

extension VersionRecord {
  /// Where the version stands, as the state machine sees it.
  var machine: VersionMachine {
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

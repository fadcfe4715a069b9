package import PullboxAPI

/// The conditions that keep a job from running, other than a delay and the number of places.
package enum HoldCondition: String, CaseIterable, Hashable, Sendable {
  case libraryOffline = "library-offline"
  /// The agent is about to end.
  case draining
  /// Every download that claims it is paused, failed, or asks for a new grant.
  case noReader = "no-reader"
  /// It was refused the room that it needs, and none has appeared since.
  case noRoom = "no-room"
  /// The machine is about to sleep, or to go off.
  case asleep
  /// There is no way to any network.
  case offline
  /// The network wants a log-in first.
  case portal
  /// The way to the network costs by the byte.
  case metered
  /// The battery is nearly empty.
  case batteryLow = "battery-low"
  /// The machine runs on its battery.
  case onBattery = "on-battery"
  /// The machine saves power.
  case powerSaver = "power-saver"
  /// No window is open in which downloads may run.
  case outsideWindow = "outside-window"
  /// The bytes of this month have come.
  case budgetSpent = "budget-spent"
  /// Others wait for the disk or for memory, and half of the places are for what is wanted now.
  case busy
  /// A download that is wanted now has taken its place.
  case preempted

  /// The reason that is shown for a job that the condition holds; nil if none is shown.
  var reason: StatusReason? {
    switch self {
    case .libraryOffline: .libraryOffline
    case .noRoom: .insufficientSpace
    case .outsideWindow: .outsideWindow
    case .budgetSpent: .budgetSpent
    case .preempted: .preempted
    case .asleep: .asleep
    case .offline: .noNetwork
    case .portal: .networkPortal
    case .metered: .metered
    case .batteryLow: .batteryLow
    case .onBattery: .onBattery
    case .powerSaver: .powerSaver
    case .busy: .machineBusy
    case .draining, .noReader: nil
    }
  }

  /// The hold of a condition of the machine.
  package init(_ name: MachineConditionName) {
    self =
      switch name {
      case .metered: .metered
      case .portal: .portal
      case .offline: .offline
      case .batteryLow: .batteryLow
      case .onBattery: .onBattery
      case .powerSaver: .powerSaver
      case .sleep: .asleep
      case .busy: .busy
      }
  }
}

extension StatusReason {
  /// The condition of the machine that is waited for; nil for all other reasons.
  package var machineCondition: MachineConditionName? {
    MachineConditionName.allCases.first { HoldCondition($0).reason == self }
  }
}

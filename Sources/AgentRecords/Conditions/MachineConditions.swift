package import CoreTypes

/// The sources of conditions. Of two that tell the same, the one that comes first here counts.
package enum ConditionSourceName: String, CaseIterable, Hashable, Sendable {
  case networkManager = "NetworkManager"
  /// `org.freedesktop.portal.NetworkMonitor`, in a sandbox.
  case networkMonitor = "NetworkMonitor"
  case networkd = "systemd-networkd"
  /// The kernel's own word about links, addresses and routes.
  case netlink = "rtnetlink"
  case upower = "UPower"
  /// `/sys/class/power_supply`.
  case powerSupply = "power_supply"
  case powerProfiles = "power-profiles-daemon"
  case login = "logind"
  /// Pressure stall information of the kernel (`/proc/pressure`).
  case pressure = "PSI"
  /// `org.freedesktop.portal.Background`, in a sandbox: whether the agent may run without its application.
  case background = "Background"
}

/// How far the way to the network goes.
package enum NetworkWay: String, Hashable, Sendable {
  /// There is none.
  case none
  /// Something asks for a log-in first.
  case portal
  case open
}

/// All that one source knows at a moment. A member that it does not tell is nil.
package struct MachineObservation: Hashable, Sendable {
  package var way: NetworkWay?
  /// A number that is another one when connections may have another way, as the kernel says.
  package var fingerprint: Int?
  /// Whether there is a route to everywhere, as the kernel says.
  package var isRouted: Bool?
  package var isMetered: Bool?
  /// The device of the way, such as `wwan0`.
  package var device: String?
  package var isOnBattery: Bool?
  /// The charge of all batteries together, 0 to 100.
  package var batteryLevel: Int?
  /// The system has warned that the battery ends.
  package var isBatteryWarned: Bool?
  package var isPowerSaving: Bool?
  /// The machine is about to sleep or to go off.
  package var isLeaving: Bool?
  /// Others wait for the disk or for memory.
  package var isBusy: Bool?

  package init() {}

  /// One with the members that `change` sets.
  package init(_ change: (inout MachineObservation) -> Void) {
    change(&self)
  }
}

/// A fact with the source that tells it.
package struct Told<Value: Hashable & Sendable>: Hashable, Sendable {
  package var value: Value
  package var source: ConditionSourceName
  /// The device that it is told of; nil where it is of none.
  package var device: String?
  /// Since when it is so, as far as this process knows.
  package var since: Timestamp

  package init(_ value: Value, by source: ConditionSourceName, device: String? = nil, since: Timestamp) {
    self.value = value
    self.source = source
    self.device = device
    self.since = since
  }
}

/// The machine as its sources tell it. What is nil is unknown, and holds nothing. Pure.
package struct MachineConditions: Hashable, Sendable {
  package struct Network: Hashable, Sendable {
    package var way: Told<NetworkWay>?
    package var isMetered: Told<Bool>?
    /// Another number when connections may have another way than before.
    package var fingerprint: Told<Int>?
  }

  package struct Power: Hashable, Sendable {
    package var isOnBattery: Told<Bool>?
    /// 0 to 100.
    package var level: Told<Int>?
    package var isWarned: Told<Bool>?
    package var isSaving: Told<Bool>?
  }

  package struct Session: Hashable, Sendable {
    package var isLeaving: Told<Bool>?
  }

  package struct Pressure: Hashable, Sendable {
    package var isBusy: Told<Bool>?
  }

  package var network = Network()
  package var power = Power()
  package var session = Session()
  package var pressure = Pressure()

  package init() {}
}

package import AgentRecords
package import CoreTypes
package import MessageBus

/// systemd-networkd's word about the way, for machines where NetworkManager does not run (org.freedesktop.network1(5)). It is asked where it
/// runs, and not started.
package struct NetworkdSource: ConditionSource {
  static let service: BusName = "org.freedesktop.network1"
  static let path: BusPath = "/org/freedesktop/network1"
  static let interface: BusInterface = "org.freedesktop.network1.Manager"

  package let name = ConditionSourceName.networkd
  private let follower: BusFollower

  /// `bus` is the system's.
  package init(bus: BusConnection, clock: any MonotonicClock) {
    follower = BusFollower(bus: bus, clock: clock)
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    let follower = follower
    try await follower.follow([.properties(of: Self.service, at: Self.path)], report: report) { name in
      Self.observation(try await follower.members(of: Self.interface, at: Self.path, name))
    }
  }

  /// The way by the state of all links together (networkctl(1), "Operational state"): with an address, if only one of the link itself, there
  /// is one, as for the kernel's own word; so there is where the links that have to be online are. A word that is none of these is not told.
  static func observation(_ members: [String: BusValue]) -> MachineObservation {
    MachineObservation { observation in
      observation.way =
        switch (members["OperationalState"]?.text, members["OnlineState"]?.text) {
        case ("routable", _), ("degraded", _), (_, "online"): .open
        case ("missing", _), ("off", _), ("no-carrier", _), ("dormant", _), ("degraded-carrier", _),
          ("carrier", _), ("enslaved", _):
          NetworkWay.none
        default: nil
        }
    }
  }
}

package import AgentRecords
package import CoreTypes
package import MessageBus

/// NetworkManager's word about the way: whether it is metered, wants a log-in, or is not there, and its device.
package struct NetworkManagerSource: ConditionSource {
  private static let service: BusName = "org.freedesktop.NetworkManager"
  private static let path: BusPath = "/org/freedesktop/NetworkManager"

  package let name = ConditionSourceName.networkManager
  private let follower: BusFollower

  /// `bus` is the system's.
  package init(bus: BusConnection, clock: any MonotonicClock) {
    follower = BusFollower(bus: bus, clock: clock)
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    let follower = follower
    try await follower.follow([.properties(of: Self.service, at: Self.path)], report: report) { name in
      let members = try await follower.members(of: "org.freedesktop.NetworkManager", at: Self.path, name)
      var observation = Self.observation(members)
      guard let connection = members["PrimaryConnection"]?.objectPath, connection != "/" else {
        return observation
      }
      observation.device = await Self.device(of: connection, follower)
      return observation
    }
  }

  /// The way by the members of the manager (NetworkManager's `NMMetered`, `NMConnectivityState` and `NMState`). A guess that it is metered
  /// counts. Where it does not look whether the way leads further, its state says whether there is one. What is none of these is not told.
  static func observation(_ members: [String: BusValue]) -> MachineObservation {
    MachineObservation { observation in
      observation.isMetered =
        switch members["Metered"]?.number {
        case 1, 3: true
        case 2, 4: false
        default: nil
        }
      observation.way =
        switch (members["State"]?.number, members["Connectivity"]?.number) {
        case (10, _), (20, _), (_, 1): NetworkWay.none
        case (_, 2): .portal
        case (_, 3), (_, 4), (.some(50...70), _): .open
        default: nil
        }
    }
  }

  /// The interface of the connection's first device; nil where that cannot be read.
  private static func device(of connection: BusPath, _ follower: BusFollower) async -> String? {
    do {
      let active = try await follower.members(
        of: "org.freedesktop.NetworkManager.Connection.Active", at: connection, service)
      guard let device = active["Devices"]?.elements?.first?.objectPath else { return nil }
      let members = try await follower.members(
        of: "org.freedesktop.NetworkManager.Device", at: device, service)
      return members["Interface"]?.text
    } catch {
      // A connection that ends while it is asked about has no device any more.
      return nil
    }
  }
}

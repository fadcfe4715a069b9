package import AgentRecords
package import CoreTypes
package import MessageBus

/// The way as the portal tells it to a sandbox, which does not reach NetworkManager (`org.freedesktop.portal.NetworkMonitor`, version 3). The
/// portal's signal comes when networks come and go, and not when one of them becomes metered or is logged in to: it is asked again every five
/// seconds as well.
package struct NetworkMonitorSource: ConditionSource {
  private static let service: BusName = "org.freedesktop.portal.Desktop"
  private static let path: BusPath = "/org/freedesktop/portal/desktop"
  private static let interface: BusInterface = "org.freedesktop.portal.NetworkMonitor"

  package let name = ConditionSourceName.networkMonitor
  private let follower: BusFollower
  private let interval: Duration

  /// `bus` is the user's; the portal is asked again so often as `interval` says.
  package init(bus: BusConnection, clock: any MonotonicClock, interval: Duration = .seconds(5)) {
    follower = BusFollower(bus: bus, clock: clock)
    self.interval = interval
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    let follower = follower
    try await follower.follow(
      [
        BusMatch(
          sender: Self.service,
          .signals(path: Self.path, interface: Self.interface, member: "changed"))
      ], every: interval, report: report
    ) { name in
      let answer = try await follower.bus.call(
        BusMethodCall("GetStatus", of: Self.interface, at: Self.path, destination: name),
        timeout: BusFollower.patience)
      guard let members = answer.first?.members else {
        throw ConditionSourceError(.nonsense, "the portal's status has no members")
      }
      return Self.observation(members)
    }
  }

  /// Connectivity 1 is a network without a way further, 3 one that wants a log-in.
  static func observation(_ members: [String: BusValue]) -> MachineObservation {
    MachineObservation { observation in
      observation.isMetered = members["metered"]?.flag
      observation.way =
        switch (members["available"]?.flag, members["connectivity"]?.number) {
        case (false?, _): NetworkWay.none
        case (true?, 3?): .portal
        case (true?, _): .open
        case (nil, _): nil
        }
    }
  }
}

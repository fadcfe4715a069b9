package import AgentRecords
package import CoreTypes
package import MessageBus

/// Whether power-profiles-daemon saves power, by its earlier name and by its present one.
package struct PowerProfilesSource: ConditionSource {
  private static let present: BusName = "org.freedesktop.UPower.PowerProfiles"
  private static let earlier: BusName = "net.hadess.PowerProfiles"

  package let name = ConditionSourceName.powerProfiles
  private let follower: BusFollower

  /// `bus` is the system's.
  package init(bus: BusConnection, clock: any MonotonicClock) {
    follower = BusFollower(bus: bus, clock: clock)
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    let follower = follower
    try await follower.follow(
      [
        .properties(of: Self.present, at: "/org/freedesktop/UPower/PowerProfiles"),
        .properties(of: Self.earlier, at: "/net/hadess/PowerProfiles"),
      ], report: report
    ) { name in
      let members =
        name == Self.present
        ? try await follower.members(
          of: "org.freedesktop.UPower.PowerProfiles", at: "/org/freedesktop/UPower/PowerProfiles", name)
        : try await follower.members(of: "net.hadess.PowerProfiles", at: "/net/hadess/PowerProfiles", name)
      return MachineObservation {
        $0.isPowerSaving = members["ActiveProfile"]?.text.map { $0 == "power-saver" }
      }
    }
  }
}

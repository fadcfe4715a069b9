package import AgentRecords
package import CoreTypes
package import MessageBus

/// UPower's word about the battery: that of all batteries together, as its display device has it.
package struct UPowerSource: ConditionSource {
  private static let service: BusName = "org.freedesktop.UPower"
  private static let path: BusPath = "/org/freedesktop/UPower"
  private static let display: BusPath = "/org/freedesktop/UPower/devices/DisplayDevice"

  package let name = ConditionSourceName.upower
  private let follower: BusFollower

  /// `bus` is the system's.
  package init(bus: BusConnection, clock: any MonotonicClock) {
    follower = BusFollower(bus: bus, clock: clock)
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    let follower = follower
    try await follower.follow(
      [.properties(of: Self.service, at: Self.path), .properties(of: Self.service, at: Self.display)],
      report: report
    ) { name in
      let manager = try await follower.members(of: "org.freedesktop.UPower", at: Self.path, name)
      var device: [String: BusValue] = [:]
      do throws(BusError) {
        device = try await follower.members(of: "org.freedesktop.UPower.Device", at: Self.display, name)
      } catch {
        // One without a display device has no battery.
        guard error.code == .refused else { throw error }
      }
      return Self.observation(manager, device)
    }
  }

  /// `WarningLevel` is 3 for a low battery, and more for one that is nearly empty. A display device that is not there has no level.
  static func observation(
    _ manager: [String: BusValue], _ device: [String: BusValue]
  ) -> MachineObservation {
    MachineObservation { observation in
      observation.isOnBattery = manager["OnBattery"]?.flag
      guard device["IsPresent"]?.flag == true else { return }
      if let level = device["Percentage"]?.fraction, (0...100).contains(level) {
        // 19.6 is below twenty.
        observation.batteryLevel = Int(clamping: level.rounded(.down))
      }
      observation.isBatteryWarned = device["WarningLevel"]?.number.map { (3...5).contains($0) }
    }
  }
}

package import CoreTypes
package import PullboxAPI

/// The rules of this device's owner: which conditions of the machine downloads wait for. Pure.
package struct MachinePolicy: Hashable, Sendable {
  package var metered = ConditionRule.wait
  /// The bytes from which a download waits on a metered way.
  package var meteredLimit = ByteCount.mebibytes(10)
  package var portal = ConditionRule.wait
  package var offline = ConditionRule.wait
  /// Below so many percent the battery is low; 0 is never.
  package var batteryLevel = 20
  package var onBattery = ConditionRule.ignore
  package var powerSaver = ConditionRule.wait
  package var busy = ConditionRule.wait
  /// Whether the delivery server is reached by the network, and not on this machine itself.
  package var needsNetwork = true

  package init() {}

  /// Whether the condition is there, and who tells it; nil where that is unknown.
  package func told(_ name: MachineConditionName, in conditions: MachineConditions) -> Told<Bool>? {
    let (network, power) = (conditions.network, conditions.power)
    switch name {
    case .metered: return network.isMetered
    case .portal: return network.way?.map { $0 == .portal }
    case .offline: return network.way?.map { $0 == .none }
    case .batteryLow: return isBatteryLow(power)
    case .onBattery: return power.isOnBattery
    case .powerSaver: return power.isSaving
    case .sleep: return conditions.session.isLeaving
    case .busy: return conditions.pressure.isBusy
    }
  }

  /// The rule for the condition. None can be ignored that keeps everything from running.
  package func rule(of name: MachineConditionName) -> ConditionRule {
    switch name {
    case .metered: metered
    case .portal: portal
    case .offline: needsNetwork ? offline : .ignore
    case .batteryLow: batteryLevel > 0 ? .wait : .ignore
    case .onBattery: onBattery
    case .powerSaver: powerSaver
    case .sleep: .wait
    case .busy: busy
    }
  }

  /// The conditions that are there and waited for, each with who tells it. Power is saved for the battery's sake: on mains the
  /// saver holds nothing.
  package func holds(in conditions: MachineConditions) -> [MachineConditionName: Told<Bool>] {
    var holds: [MachineConditionName: Told<Bool>] = [:]
    for name in MachineConditionName.allCases where rule(of: name) == .wait {
      guard let told = told(name, in: conditions), told.value else { continue }
      if name == .powerSaver, conditions.power.isOnBattery?.value == false { continue }
      holds[name] = told
    }
    return holds
  }

  /// A battery that is being charged is not low.
  private func isBatteryLow(_ power: MachineConditions.Power) -> Told<Bool>? {
    guard let onBattery = power.isOnBattery else { return nil }
    guard onBattery.value else { return onBattery }
    if let warned = power.isWarned, warned.value { return warned }
    return power.level.map { $0.map { $0 < batteryLevel } } ?? power.isWarned
  }
}

extension Told {
  /// Another value of the same source.
  package func map<Other>(_ transform: (Value) -> Other) -> Told<Other> {
    Told<Other>(transform(value), by: source, device: device, since: since)
  }
}

import AgentRecords
import CoreTypes
import Glibc
import ServiceRuntime

/// The conditions of the machine.
extension AgentConfiguration {
  /// The rules of this configuration, on a machine with those names. Throws ``ConfigurationError`` for numbers out of their bounds.
  func machinePolicy(
    environment: [String: String], names: OwnNames
  ) throws(ConfigurationError) -> MachinePolicy {
    var policy = MachinePolicy()
    var faults: [ConfigurationFault] = []
    policy.metered = metered ?? policy.metered
    if let meteredLimit {
      if meteredLimit.bytes < .zero {
        faults.append(ConfigurationFault(subject: "meteredLimit", message: "no byte or more is expected"))
      }
      policy.meteredLimit = meteredLimit.bytes
    }
    policy.portal = portal ?? policy.portal
    policy.offline = offline ?? policy.offline
    if let batteryLevel {
      if !(0...100).contains(batteryLevel) {
        faults.append(ConfigurationFault(subject: "batteryLevel", message: "0 to 100 percent are expected"))
      }
      policy.batteryLevel = batteryLevel
    }
    policy.onBattery = onBattery ?? policy.onBattery
    policy.powerSaver = powerSaver ?? policy.powerSaver
    policy.busy = busy ?? policy.busy
    policy.needsNetwork = needsNetwork(server, environment: environment, names: names)
    if let error = ConfigurationError(faults) { throw error }
    return policy
  }

  /// The sources that are to be heard. Throws ``ConfigurationError`` for a name that is none, and for `none` beside others.
  func heardSources() throws(ConfigurationError) -> Set<ConditionSourceName> {
    guard let names = conditionSources else { return Set(ConditionSourceName.allCases) }
    if names == ["none"] { return [] }
    var heard: Set<ConditionSourceName> = []
    for (index, text) in names.enumerated() {
      guard let name = ConditionSourceName(rawValue: text) else {
        let words = ConditionSourceName.allCases.map(\.rawValue).joined(separator: ", ")
        throw ConfigurationError(
          subject: "conditionSources.\(index)", message: "'\(text)' is none of \(words), and not none alone")
      }
      heard.insert(name)
    }
    return heard
  }

  /// Whether the service is reached by the network: one on this machine itself, or behind a proxy, is there without.
  func needsNetwork(_ url: String, environment: [String: String], names: OwnNames) -> Bool {
    let proxies = ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"]
    if proxies.contains(where: { environment[$0]?.isEmpty == false }) { return false }
    return ConfigurationURL.host(of: url).map { !names.contains($0) } ?? true
  }
}

import AgentRecords
import ContentLibrary
import CoreTypes
import HTTPClient
import MachineConditionSources
import MessageBus
import ServiceRuntime

/// The machine's part of the service.
extension AgentService {
  /// The sources that are heard, and what keeps the machine awake while content is placed; tests tell conditions themselves. Blocks.
  ///
  /// - Parameter connection: the agent's own, to the bus of the configuration.
  static func machine(
    _ configuration: AgentConfiguration, sharing connection: BusConnection?, tuning: Tuning,
    clock: any MonotonicClock, log: Log
  ) throws -> (sources: [any ConditionSource], inhibitor: PlacingInhibitor?) {
    let heard = try configuration.heardSources()
    if let sources = tuning.conditionSources { return (sources.filter { heard.contains($0.name) }, nil) }
    var connections: [BusAddress: BusConnection] = [:]
    if let connection { connections[configuration.bus == .session ? .session : .system] = connection }
    let machine = MachineSources(heard: heard, sharing: connections, clock: clock, log: log)
    return (machine.all, machine.inhibitor)
  }

  /// The watch over the machine. A service that is not reached by the network has no gate that closes without one.
  static func conditionWatch(
    _ configuration: AgentConfiguration, downloads: DownloadManager, client: HTTPClient,
    environment: [String: String], gates: [(url: String, health: EndpointHealth)],
    sources: [any ConditionSource], tuning: Tuning, clock: any MonotonicClock, wallClock: any WallClock,
    log: Log
  ) throws -> ConditionWatch {
    let names = OwnNames.ofThisMachine()
    var policy = try configuration.machinePolicy(environment: environment, names: names)
    policy.needsNetwork = tuning.needsNetwork ?? policy.needsNetwork
    return ConditionWatch(
      sources: sources, policy: policy, pace: tuning.conditionPace, downloads: downloads,
      gates: gates.filter {
        tuning.needsNetwork ?? configuration.needsNetwork($0.url, environment: environment, names: names)
      }.map(\.health.network),
      client: client, clock: clock, wallClock: wallClock, log: log)
  }
}

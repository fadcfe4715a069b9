import AgentRecords
import ContentLibrary
import CoreTypes
import Files
import HTTPClient
import MachineConditionSources
import MessageBus
import ServiceRuntime
import SystemCalls

/// The machine's part of the service.
extension AgentService {
  /// The sources that are heard, and what keeps the machine awake while content is placed; tests tell conditions themselves. Blocks.
  ///
  /// - Parameters:
  ///   - connection: the agent's own, to the bus of the configuration.
  ///   - background: for the question whether it may run without its application, in a sandbox.
  static func machine(
    _ configuration: AgentConfiguration, sharing connection: BusConnection?,
    background: BackgroundSource.Agent,
    tuning: Tuning, clock: any MonotonicClock, wallClock: any WallClock, log: Log
  ) throws -> (sources: [any ConditionSource], inhibitor: PlacingInhibitor?) {
    let heard = try configuration.heardSources()
    if let sources = tuning.conditionSources { return (sources.filter { heard.contains($0.name) }, nil) }
    var connections: [BusAddress: BusConnection] = [:]
    if let connection { connections[configuration.bus == .session ? .session : .system] = connection }
    let machine = MachineSources(heard: heard, sharing: connections, clock: clock, log: log)
    guard heard.contains(.background), FlatpakSandbox.isAround else {
      return (machine.all, machine.inhibitor)
    }
    do throws(BusError) {
      let bus =
        if let known = connections[.session] { known } else { try BusConnection.open(.session) }
      let source = BackgroundSource(bus: bus, agent: background, clock: clock, wallClock: wallClock)
      return (machine.all + [source], machine.inhibitor)
    } catch {
      log.info("running in the background cannot be asked for", ["error": LogValue(error)])
      return (machine.all, machine.inhibitor)
    }
  }

  /// The agent, for the question whether it may run in the background.
  static func background(_ database: AgentDatabase, _ hub: EventHub) -> BackgroundSource.Agent {
    let arguments = CommandLine.arguments
    return BackgroundSource.Agent(
      answer: { try await BlockingPool.shared.run { try database.backgroundAnswer() } },
      keep: { answer in try await BlockingPool.shared.run { try database.setBackgroundAnswer(answer) } },
      command: [arguments.first.map(FileSystem.lastPart(of:)) ?? "pullbox-agent"] + arguments.dropFirst(),
      lines: { BackgroundLine.lines(from: hub) })
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

import MessageBus
import ServiceRuntime

extension AgentService {
  /// A connection that asks for the agent's name; nil where none is configured. Where the machine cannot have one, the log says so once, and
  /// the agent is as without it.
  static func connection(
    to choice: AgentBusChoice?, _ environment: [String: String], log: Log
  ) -> BusConnection? {
    guard let choice, choice != .nothing else { return nil }
    do throws(BusError) {
      return try BusConnection.open(
        choice == .system ? .system : .session, environment: environment,
        configuration: BusConfiguration(service: BusContract.name))
    } catch {
      log.info("the agent is on no bus", ["reason": LogValue(error)])
      return nil
    }
  }
}

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

  /// Programs in a sandbox, as the agent on that bus can tell them.
  static func readers(
    _ choice: AgentBusChoice?, _ connection: BusConnection?, _ processes: String
  ) -> SandboxedReaders {
    SandboxedReaders(bus: choice == .session ? connection : nil, processes: processes)
  }

  /// The rule of who may change something. On the bus of the system polkit decides of other users, whose processes the kernel does not show;
  /// of an agent of its user's alone it is asked about programs in a sandbox.
  static func authority(
    _ access: ControlAccess, _ choice: AgentBusChoice?, _ connection: BusConnection?,
    _ readers: SandboxedReaders, _ environment: [String: String], log: Log
  ) -> ChangeAuthority {
    guard choice != .system else {
      return ChangeAuthority(
        access: access, judge: connection.map { BusAuthority(bus: $0, log: log) })
    }
    return ChangeAuthority(
      access: access, judge: nil, witness: readers,
      judgeOfSandboxes: LateBusAuthority(log: log, processes: readers.processes) { () throws(BusError) in
        try BusConnection.open(.system, environment: environment)
      })
  }
}

package import AgentRecords
package import CoreTypes
import Files
package import MessageBus
package import ServiceRuntime
import SystemCalls

/// The sources of the machine that this process runs on, and the inhibitor of its sleep.
package struct MachineSources: Sendable {
  /// All that this machine could have. One that it does not have says so when it is run.
  package let all: [any ConditionSource]
  /// Nil where there is no bus's library.
  package let inhibitor: PlacingInhibitor?

  /// None but those of `heard` are asked, and no connection to a bus is made for others. Opens the bus's library, which blocks.
  ///
  /// - Parameter connections: those that the process has, by the buses.
  package init(
    heard: Set<ConditionSourceName>, sharing connections: [BusAddress: BusConnection] = [:],
    clock: any MonotonicClock, log: Log
  ) {
    var sources: [any ConditionSource] = []
    let onBus = heard.intersection([.networkManager, .networkd, .upower, .powerProfiles, .login])
    var system: BusConnection?
    if !onBus.isEmpty {
      do throws(BusError) {
        let bus = try Self.connection(to: .system, of: connections)
        system = bus
        sources += [
          NetworkManagerSource(bus: bus, clock: clock), NetworkdSource(bus: bus, clock: clock),
          UPowerSource(bus: bus, clock: clock), PowerProfilesSource(bus: bus, clock: clock),
          LoginSource(bus: bus, clock: clock, log: log),
        ]
      } catch {
        sources += onBus.map { AbsentSource(name: $0, reason: error.message) }
      }
    }
    if heard.contains(.networkMonitor), FlatpakSandbox.isAround {
      do throws(BusError) {
        let bus = try Self.connection(to: .session, of: connections)
        sources.append(NetworkMonitorSource(bus: bus, clock: clock))
      } catch {
        sources.append(AbsentSource(name: .networkMonitor, reason: error.message))
      }
    }
    if !heard.isDisjoint(with: [.netlink, .powerSupply, .pressure]) {
      do {
        let thread = try ReadinessThread(name: "conditions")
        sources += [
          NetlinkSource(thread: thread, clock: clock), PowerSupplySource(thread: thread, clock: clock),
          PressureSource(own: Self.ownControlGroup, thread: thread, clock: clock),
        ]
      } catch {
        log.warning("the kernel cannot be asked for the machine's conditions", ["error": LogValue(error)])
      }
    }
    all = sources.filter { heard.contains($0.name) }
    inhibitor =
      heard.contains(.login) ? system.map { PlacingInhibitor(bus: $0, clock: clock, log: log) } : nil
  }

  private static func connection(
    to address: BusAddress, of known: [BusAddress: BusConnection]
  ) throws(BusError) -> BusConnection {
    if let connection = known[address] { return connection }
    return try BusConnection.open(address)
  }

  /// The folder of this process's control group, where it has one of its own (cgroups(7), version 2).
  private static var ownControlGroup: String? {
    guard let bytes = try? FileSystem.read("/proc/self/cgroup", upTo: .kibibytes(16)) else { return nil }
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("0::/") }
    guard let path = line?.dropFirst("0::".count), path != "/", !path.contains("..") else { return nil }
    return "/sys/fs/cgroup\(path)"
  }
}

/// A source that this machine cannot have.
private struct AbsentSource: ConditionSource {
  let name: ConditionSourceName
  let reason: String

  func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    throw ConditionSourceError(.absent, reason)
  }
}

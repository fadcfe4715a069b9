package import AgentRecords
package import CoreTypes
package import MessageBus
import ServiceRuntime

/// logind's word that the machine is about to sleep or to go off. A delay inhibitor has logind wait, five seconds at most, until what
/// transfers has come to rest.
package struct LoginSource: ConditionSource {
  static let service: BusName = "org.freedesktop.login1"
  static let path: BusPath = "/org/freedesktop/login1"
  static let interface: BusInterface = "org.freedesktop.login1.Manager"
  /// How long sleep is kept waiting at most. logind has a bound of its own (`InhibitDelayMaxSec`).
  static let longestDelay: Duration = .seconds(5)

  package let name = ConditionSourceName.login
  private let bus: BusConnection
  private let clock: any MonotonicClock

  /// `bus` is the system's.
  package init(bus: BusConnection, clock: any MonotonicClock) {
    self.bus = bus
    self.clock = clock
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    var inhibitor: BusDescriptor?
    var isThere = false
    let subscription = bus.subscribe(
      BusMatch(sender: Self.service, .signals(path: Self.path, interface: Self.interface)))
    for await news in subscription {
      switch news {
      case .appeared:
        isThere = true
        inhibitor = await takeDelay()
        await report(MachineObservation { $0.isLeaving = false })
      case .vanished:
        inhibitor = nil
        if isThere { throw ConditionSourceError(.away, "it is gone from the bus") }
      case .missed: break
      case .refused(let error): throw ConditionSourceError(.away, "\(error)")
      case .signal(let signal):
        guard ["PrepareForSleep", "PrepareForShutdown"].contains(signal.member),
          let begins = signal.arguments.first?.flag
        else { continue }
        if begins {
          await tellLeaving(report)
          inhibitor = nil
        } else {
          await report(MachineObservation { $0.isLeaving = false })
          inhibitor = await takeDelay()
        }
      }
    }
    _ = inhibitor
  }

  /// Tells that the machine is about to leave, and waits until that was taken in, but not longer than ``longestDelay``.
  private func tellLeaving(_ report: @escaping @Sendable (MachineObservation) async -> Void) async {
    let isTaken = AsyncSignal()
    // It is told to its end, also where that takes longer than anyone waits.
    Task {
      await report(MachineObservation { $0.isLeaving = true })
      isTaken.signal()
    }
    await isTaken.wait(atMost: Self.longestDelay, clock: clock)
  }

  /// Nil where logind gives none: sleep does not wait for the agent then.
  private func takeDelay() async -> BusDescriptor? {
    do {
      return try await Self.inhibit(
        "sleep:shutdown", mode: "delay", why: "content is being downloaded, and is put down first", on: bus)
    } catch {
      // A machine without logind, or one that does not let this user ask, sleeps when it wants to.
      return nil
    }
  }

  static func inhibit(
    _ what: String, mode: String, why: String, on bus: BusConnection
  ) async throws(BusError) -> BusDescriptor? {
    let answer = try await bus.call(
      BusMethodCall(
        "Inhibit", of: interface, at: path, destination: service,
        arguments: [.string(what), .string("Pullbox"), .string(why), .string(mode)]),
      timeout: BusFollower.patience)
    return answer.first?.openDescriptor
  }
}

package import AgentRecords
package import CoreTypes
package import MessageBus
package import ServiceRuntime

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
  private let refusals: InhibitorRefusals

  /// `bus` is the system's. A delay that is refused is logged once.
  package init(bus: BusConnection, clock: any MonotonicClock, log: Log) {
    self.bus = bus
    self.clock = clock
    refusals = InhibitorRefusals(log: log)
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    var inhibitor: SleepInhibitor?
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
  private func takeDelay() async -> SleepInhibitor? {
    do throws(BusError) {
      return try await SleepInhibitor(
        .delay, why: "content is being downloaded, and is put down first", on: bus)
    } catch {
      // A machine without logind, or one that does not let this user ask, sleeps when it wants to.
      refusals.note(error, "logind does not wait for the agent before the machine sleeps")
      return nil
    }
  }
}

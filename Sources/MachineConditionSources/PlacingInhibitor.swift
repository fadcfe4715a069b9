package import CoreTypes
package import MessageBus
package import ServiceRuntime

/// Keeps the machine from sleeping and from going off while content is moved to its place: a block inhibitor of logind's, for half a
/// minute at most. logind may refuse it, as it does to a service of the system without a rule of polkit's; that is logged once.
package final class PlacingInhibitor: Sendable {
  /// However long placing takes.
  static let longest: Duration = .seconds(30)

  private let bus: BusConnection
  private let clock: any MonotonicClock
  private let refusals: InhibitorRefusals

  /// `bus` is the system's.
  package init(bus: BusConnection, clock: any MonotonicClock, log: Log) {
    self.bus = bus
    self.clock = clock
    refusals = InhibitorRefusals(log: log)
  }

  /// Runs the body, which does not wait for the inhibitor.
  ///
  /// - Parameter title: of the content, for the person whose command to sleep is refused.
  package func whilePlacing<Value: Sendable>(
    _ title: String, _ body: () async throws -> Value
  ) async rethrows -> Value {
    let guarding = Task { [self] in
      let inhibitor: SleepInhibitor
      do throws(BusError) {
        inhibitor = try await SleepInhibitor(.block, why: "\(title) is moved to its place", on: bus)
      } catch {
        refusals.note(error, "logind does not let the agent keep the machine awake while content is placed")
        return
      }
      // Cancelled when it is placed.
      try? await clock.sleep(for: Self.longest)
      _ = inhibitor
    }
    defer { guarding.cancel() }
    return try await body()
  }
}

package import CoreTypes
package import MessageBus
package import ServiceRuntime
import Synchronization

/// Keeps the machine from sleeping and from going off while content is moved to its place: a block inhibitor of logind's, for half a
/// minute at most. logind may refuse it, as it does to a service of the system without a rule of polkit's; that is logged once.
package final class PlacingInhibitor: Sendable {
  /// However long placing takes.
  static let longest: Duration = .seconds(30)

  private let bus: BusConnection
  private let clock: any MonotonicClock
  private let log: Log
  private let isRefusalLogged = Atomic(false)

  /// `bus` is the system's.
  package init(bus: BusConnection, clock: any MonotonicClock, log: Log) {
    self.bus = bus
    self.clock = clock
    self.log = log
  }

  /// Runs the body, which does not wait for the inhibitor.
  ///
  /// - Parameter title: of the content, for the person whose command to sleep is refused.
  package func whilePlacing<Value: Sendable>(
    _ title: String, _ body: () async throws -> Value
  ) async rethrows -> Value {
    let guarding = Task { [self] in
      let inhibitor: BusDescriptor
      do throws(BusError) {
        let given = try await LoginSource.inhibit(
          "shutdown:sleep", mode: "block", why: "\(title) is moved to its place", on: bus)
        guard let given else { return }
        inhibitor = given
      } catch {
        logRefusal(error)
        return
      }
      // Cancelled when it is placed.
      try? await clock.sleep(for: Self.longest)
      _ = inhibitor
    }
    defer { guarding.cancel() }
    return try await body()
  }

  /// A machine without logind is no matter for the log.
  private func logRefusal(_ error: BusError) {
    let names = ["AccessDenied", "InteractiveAuthorizationRequired"]
    guard let name = error.name, names.contains(where: name.hasSuffix),
      !isRefusalLogged.exchange(true, ordering: .relaxed)
    else { return }
    log.warning(
      "logind does not let the agent keep the machine awake while content is placed",
      ["error": LogValue(error)])
  }
}

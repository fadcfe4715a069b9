package import CoreTypes
package import MessageBus

/// Keeps the machine from sleeping and from going off while content is moved to its place: a block inhibitor of logind's, for half a
/// minute at most.
package final class PlacingInhibitor: Sendable {
  /// However long placing takes.
  static let longest: Duration = .seconds(30)

  private let bus: BusConnection
  private let clock: any MonotonicClock

  /// `bus` is the system's.
  package init(bus: BusConnection, clock: any MonotonicClock) {
    self.bus = bus
    self.clock = clock
  }

  /// Runs the body, which does not wait for the inhibitor.
  ///
  /// - Parameter title: of the content, for the person whose command to sleep is refused.
  package func whilePlacing<Value: Sendable>(
    _ title: String, _ body: () async throws -> Value
  ) async rethrows -> Value {
    let guarding = Task { [bus, clock] in
      let inhibitor = await LoginSource.inhibit(
        "shutdown:sleep", mode: "block", why: "\(title) is moved to its place", on: bus)
      guard let inhibitor else { return }
      // Cancelled when it is placed.
      try? await clock.sleep(for: Self.longest)
      _ = inhibitor
    }
    defer { guarding.cancel() }
    return try await body()
  }
}

import CoreTypes
import MessageBus
import ServiceRuntime
import Synchronization

/// Inhibitors of sleep and of shutdown, which logind counts while this object lives.
///
/// logind is asked for one after the other: before one for several things at once, logind 252 has polkit judge by the action of a lid's switch, which
/// no service of the system may.
final class SleepInhibitor: Sendable {
  /// The answer of logind to one who has the machine sleep.
  enum Mode: String, Sendable {
    /// It waits, for as long as its own bound says.
    case delay
    /// It refuses.
    case block
  }

  private let descriptors: [BusDescriptor]

  /// Throws ``BusError`` where logind gives none, or not both.
  ///
  /// - Parameter why: for the person whose machine does not sleep.
  init(_ mode: Mode, why: String, on bus: BusConnection) async throws(BusError) {
    var descriptors: [BusDescriptor] = []
    for what in ["sleep", "shutdown"] {
      let answer = try await bus.call(
        BusMethodCall(
          "Inhibit", of: LoginSource.interface, at: LoginSource.path, destination: LoginSource.service,
          arguments: [.string(what), .string("Pullbox"), .string(why), .string(mode.rawValue)]),
        timeout: BusFollower.patience)
      guard let descriptor = answer.first?.openDescriptor else {
        throw BusError(.malformed, "logind answers an inhibitor without a descriptor")
      }
      descriptors.append(descriptor)
    }
    self.descriptors = descriptors
  }
}

/// Says once that logind refuses an inhibitor. A machine without logind is no matter for the log.
final class InhibitorRefusals: Sendable {
  private let log: Log
  private let isLogged = Atomic(false)

  init(log: Log) { self.log = log }

  func note(_ error: BusError, _ words: String) {
    let names = ["AccessDenied", "InteractiveAuthorizationRequired"]
    guard let name = error.name, names.contains(where: name.hasSuffix),
      !isLogged.exchange(true, ordering: .relaxed)
    else { return }
    log.warning(words, ["error": LogValue(error)])
  }
}

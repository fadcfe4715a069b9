import HTTPServer
import ServiceRuntime
import SystemCalls

extension DeliveryServer {
  /// Reads configuration, ticket keys and certificate again: operator keys and whether review takes two, limits, trusted
  /// proxies, the tickets' lifetime and keys and the log's level take effect at once, for connections that are open as well;
  /// tickets that are out stay good while their key is in the file. Everything is read and checked first: where something is
  /// wrong, all stays as it was and the log says why.
  public func reload(_ load: @escaping @Sendable () throws -> DeliveryConfiguration) async {
    do {
      let state = configuration.state
      let (new, keys) = try await BlockingPool.shared.run {
        (try load(), try TicketKeyFile.load(TicketKeyFile.path(in: state)))
      }
      let operatorKeys = try new.namedOperatorKeys()
      guard let level = LogLevel(name: new.logLevel) else {
        throw StartError("not a log level: \(new.logLevel)")
      }
      let grants = try new.deliverySettings(keys: keys)
      let server = server
      try await BlockingPool.shared.run { try server.reloadCertificates() }
      operators.replace(operatorKeys, needsSecondKey: new.requireSecondKey ?? false)
      settings.replace(grants)
      log.level = level
      accessLog?.reopen()
      log.info("reloaded", ["ticketKey": LogValue(keys.newest.identifier)])
      warnOfOthers(new)
    } catch {
      log.error("reloading failed; everything stays as it was", ["error": LogValue(error)])
    }
  }

  private func warnOfOthers(_ new: DeliveryConfiguration) {
    let keys = new.settingsThatNeedRestart(since: configuration)
    guard !keys.isEmpty else { return }
    log.warning("some changes need a restart", ["keys": LogValue(keys.joined(separator: " "))])
  }
}

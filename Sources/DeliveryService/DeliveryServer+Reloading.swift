import HTTPServer
import ServiceRuntime
import SystemCalls

extension DeliveryServer {
  /// Reads configuration, ticket keys and certificate again: operator keys and whether review takes two, limits,
  /// trusted proxies, the tickets' lifetime and keys and the log's level take effect at once, for connections that are open as
  /// well; tickets that are out stay good while their key is in the file. Everything is read and checked first: where something is wrong, all stays as it was and the log says why.
  public func reload(_ load: @escaping @Sendable () throws -> DeliveryConfiguration) async {
    do {
      let state = configuration.state
      let (new, keys) = try await BlockingPool.shared.run {
        (try load(), try TicketKeyFile.load(TicketKeyFile.path(in: state)))
      }
      let operatorKeys = try Self.operatorKeys(new)
      guard let level = LogLevel(name: new.logLevel) else {
        throw StartError("not a log level: \(new.logLevel)")
      }
      let gate = try new.gateSettings(keys: keys)
      let server = server
      try await BlockingPool.shared.run { try server.reloadCertificates() }
      operators.replace(operatorKeys, needsSecondKey: new.requireSecondKey ?? false)
      settings.replace(gate)
      log.level = level
      accessLog?.reopen()
      log.info("reloaded", ["ticketKey": LogValue(keys.newest.identifier)])
      warnOfOthers(new)
    } catch {
      log.error("reloading failed; everything stays as it was", ["error": LogValue(error)])
    }
  }

  /// What an open server cannot change.
  private func warnOfOthers(_ new: DeliveryConfiguration) {
    let old = configuration
    let changed: [(String, Bool)] = [
      ("listen", old.listen != new.listen), ("tls", old.tls != new.tls), ("state", old.state != new.state),
      ("store.url", old.store.url != new.store.url), ("store.name", old.store.name != new.store.name),
      ("maximumConnections", old.maximumConnections != new.maximumConnections),
      (
        "maximumConnectionsPerAddress",
        old.maximumConnectionsPerAddress != new.maximumConnectionsPerAddress
      ),
      ("unlimitedAddresses", old.unlimitedAddresses != new.unlimitedAddresses),
      ("loops", old.loops != new.loops), ("publicURL", old.publicURL != new.publicURL),
      ("accessLog", old.accessLog != new.accessLog),
      ("store.credential", old.store.credential.revealed != new.store.credential.revealed),
      ("store.bundles", old.store.bundles != new.store.bundles),
      ("storePatience", old.storePatience != new.storePatience),
      ("headDeadline", old.headDeadline != new.headDeadline),
      ("idleDeadline", old.idleDeadline != new.idleDeadline),
      ("minimumReceiveRate", old.minimumReceiveRate != new.minimumReceiveRate),
      ("minimumSendRate", old.minimumSendRate != new.minimumSendRate),
      ("drainDeadline", old.drainDeadline != new.drainDeadline),
      ("uploadLifetime", old.uploadLifetime != new.uploadLifetime),
      ("storageQuota", old.storageQuota != new.storageQuota),
      ("collectionInterval", old.collectionInterval != new.collectionInterval),
      ("collectionGrace", old.collectionGrace != new.collectionGrace),
      ("collectWithdrawn", old.collectWithdrawn != new.collectWithdrawn),
    ]
    let names = changed.filter(\.1).map(\.0)
    guard !names.isEmpty else { return }
    log.warning("some changes need a restart", ["keys": LogValue(names.joined(separator: " "))])
  }
}

import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceRuntime

extension DeliveryConfiguration {
  /// Every operator key with its name. Throws ``StartError`` where two are the same, or have the same name.
  func namedOperatorKeys() throws -> [OperatorKeys.Key] {
    var keys = (operatorKeys ?? []).map { key in
      OperatorKeys.Key(name: key.name, secret: SecretDigest(of: key.key.revealed), scopes: Set(key.scopes))
    }
    if let key = operatorKey {
      keys.append(
        OperatorKeys.Key(name: "operator", secret: SecretDigest(of: key.revealed), scopes: [.admin]))
    }
    guard Set(keys.map(\.secret)).count == keys.count else {
      throw StartError("two operator keys are the same")
    }
    guard Set(keys.map(\.name)).count == keys.count else {
      throw StartError("two operator keys have the same name: the audit log could not tell them apart")
    }
    return keys
  }
}

extension DeliveryConfiguration {
  /// Throws ``StartError`` for what is neither an address nor a block of them.
  func proxies() throws -> TrustedProxies {
    TrustedProxies(
      networks: try (trustedProxies ?? []).map { text in
        guard let network = PeerNetwork(text) else {
          throw StartError("trustedProxies: \(text) is no address, no block such as 10.0.0.0/8, and not unix")
        }
        return network
      })
  }

  /// Throws ``StartError`` for what is no path.
  func accelRedirect() throws -> AccelRedirect? {
    guard let accelRedirectPrefix else { return nil }
    guard let redirect = AccelRedirect(prefix: accelRedirectPrefix, longest: accelRedirectLongest?.bytes)
    else {
      throw StartError("accelRedirectPrefix: \(accelRedirectPrefix) is no path")
    }
    return redirect
  }

  /// Everything of the gate that may change while it runs. Throws ``StartError``.
  func deliverySettings(keys: TicketKeys) throws -> DeliverySettings {
    DeliverySettings(
      keys: keys, ticketLifetime: ticketLifetime.duration, classes: try classes(), proxies: try proxies(),
      accelRedirect: try accelRedirect())
  }
}

extension DeliveryConfiguration {
  /// The members that a reload takes over; ``settingsThatNeedRestart(since:)`` compares all others.
  static let reloadedSettings: Set<String> = [
    "operatorKey", "operatorKeys", "requireSecondKey", "ticketLifetime", "logLevel", "limits", "rateClasses",
    "trustedProxies", "accelRedirectPrefix", "accelRedirectLongest",
  ]

  /// The keys of what differs from `old` and counts only at the next start.
  func settingsThatNeedRestart(since old: DeliveryConfiguration) -> [String] {
    comparedSettings(old).filter(\.hasChanged).map(\.key)
  }

  private func comparedSettings(_ old: DeliveryConfiguration) -> [(key: String, hasChanged: Bool)] {
    [
      ("listen", listen != old.listen), ("tls", tls != old.tls), ("state", state != old.state),
      ("store.name", store.name != old.store.name), ("store.url", store.url != old.store.url),
      ("store.credential", store.credential.revealed != old.store.credential.revealed),
      ("store.bundles", store.bundles != old.store.bundles),
      ("publicURL", publicURL != old.publicURL), ("storePatience", storePatience != old.storePatience),
      ("maximumConnections", maximumConnections != old.maximumConnections),
      ("maximumConnectionsPerAddress", maximumConnectionsPerAddress != old.maximumConnectionsPerAddress),
      ("unlimitedAddresses", unlimitedAddresses != old.unlimitedAddresses), ("loops", loops != old.loops),
      ("headDeadline", headDeadline != old.headDeadline), ("idleDeadline", idleDeadline != old.idleDeadline),
      ("minimumReceiveRate", minimumReceiveRate != old.minimumReceiveRate),
      ("minimumSendRate", minimumSendRate != old.minimumSendRate),
      ("drainDeadline", drainDeadline != old.drainDeadline),
      ("uploadLifetime", uploadLifetime != old.uploadLifetime),
      ("storageQuota", storageQuota != old.storageQuota),
      ("gcInterval", gcInterval != old.gcInterval),
      ("gcGrace", gcGrace != old.gcGrace),
      ("collectWithdrawn", collectWithdrawn != old.collectWithdrawn),
      ("accessLog", accessLog != old.accessLog),
    ]
  }
}

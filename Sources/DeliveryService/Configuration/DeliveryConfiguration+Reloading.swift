import ServiceRuntime

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
      ("collectionInterval", collectionInterval != old.collectionInterval),
      ("collectionGrace", collectionGrace != old.collectionGrace),
      ("collectWithdrawn", collectWithdrawn != old.collectWithdrawn),
      ("accessLog", accessLog != old.accessLog),
    ]
  }
}

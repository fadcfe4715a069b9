import ContentDelivery
import HTTPServer
import PullboxAPIServer
import RouteAccess
public import ServiceRuntime

extension DeliveryConfiguration {
  /// Adds the faults of the configuration to `findings`, and warnings of settings that work and may not be meant. Finds all
  /// that a start would refuse, except for faults of the state directory.
  public func inspect(_ findings: inout ConfigurationFindings) {
    inspectKeys(&findings)
    inspectAddresses(&findings)
    findings.check("limits") { _ = try rateLimits() }
    findings.check("rateClasses") { _ = try namedClasses() }
    findings.check("requestsInProgress") { try checkRequestsInProgress() }
    findings.check("bodyMemory") { try checkBodyMemory() }
    findings.check("admissionClasses") { _ = try admissionClassLimits() }
    findings.check("refundPoll") { _ = try refundPollInterval() }
    findings.check("trustedProxies") { _ = try proxies() }
    findings.check("unlimitedAddresses") { _ = try unlimitedNetworks() }
    findings.check("accelRedirectPrefix") { _ = try accelRedirect() }
    findings.check("ticketLifetime") { try checkTicketLifetime() }
    findings.check("licenseDays") { _ = try licenseLifetime() }
    findings.check("stopShare") { _ = try releaseStopRule() }
    findings.check("cors.origins") { _ = try crossOriginPolicy() }
    findings.check("priceLocales") { _ = try localesOfPrices() }
    findings.check("node") { _ = try nodeName() }
    findings.check("database") { _ = try databaseAddress() }
    findings.check("packages") { _ = try packageStoreAddress() }
    if packages != nil, accelRedirectPrefix != nil, accelRedirectLongest == nil {
      findings.warn(
        "accelRedirectLongest",
        "without it a download of more than \(AccelRedirect.lifetime) s may end early where nginx reads the object store"
      )
    }
    findings.check("storeCalls") { _ = try outboxOptions() }
    findings.check("headDeadline") { try checkDeadlines() }
  }

  /// Finds the faults of operator keys and stores, and warns of secrets that are in the wrong place or could be
  /// guessed.
  private func inspectKeys(_ findings: inout ConfigurationFindings) {
    findings.check("operatorKeys") {
      let keys = try keyring().keys
      guard let credential = store.credential.map({ SecretDigest(of: $0.revealed) }) else { return }
      if let same = keys.first(where: { $0.secret == credential }) {
        throw ConfigurationError(
          subject: "store.credential", message: "is the operator key \(same.holder.name) as well")
      }
    }
    if operatorKey == nil, operatorKeys?.isEmpty ?? true, operatorKeyFile == nil {
      findings.warn(
        "operatorKey",
        "there is no operator key: no one can publish, and no one can see what this server does")
    }
    if operatorKey == nil, findings.environment["PULLBOX_OPERATOR_KEY"]?.isEmpty == false {
      findings.warn(
        "operatorKey",
        "PULLBOX_OPERATOR_KEY is the key that the command line shows, and gives this server none; "
          + "its own is PULLBOX_SERVER_OPERATOR_KEY")
    }
    if store.credential == nil, stores?.isEmpty ?? true {
      findings.miss("store.credential", "is missing")
      findings.check("store.url") { try ConfigurationURL.check(store.url, key: "store.url") }
    } else {
      findings.check("stores") { _ = try paymentStores() }
    }
    guard let credential = store.credential else { return }
    let bits = SecretStrength.bits(of: credential.revealed)
    if bits < SecretStrength.minimum {
      findings.warn("store.credential", "could be guessed: it has at most \(bits) bits")
    }
  }

  /// Finds the faults of addresses and of TLS. Blocks while it reads the certificate and its key.
  private func inspectAddresses(_ findings: inout ConfigurationFindings) {
    if let publicURL {
      findings.check("publicURL") { try ConfigurationURL.check(publicURL, key: "publicURL") }
    }
    var all: [(key: String, address: String)] = []
    for (key, texts) in [
      ("listen", listen), ("management.listen", management?.listen ?? []), ("tls.listen", tls?.listen ?? []),
    ] {
      findings.check(key) {
        let addresses = try Self.addresses(texts, of: key)
        all += addresses.enumerated().map { ("\(key).\($0.offset)", $0.element.description) }
      }
    }
    findings.refuseRepetition(of: all)
    guard let tls else { return }
    let files = TLSConfiguration(certificateFile: tls.certificate, keyFile: tls.key)
    findings.check("tls.certificate") { try files.check() }
    findings.check("tls.key") {
      if try files.keyIsExposed() {
        throw ConfigurationError(
          subject: "tls.key",
          message: "every user of this machine may use the key in \(tls.key); 'chmod o= \(tls.key)'")
      }
    }
  }

  /// Throws the faults of all that are no addresses.
  static func addresses(
    _ texts: [String], of key: String
  ) throws(ConfigurationError) -> [ServerAddress] {
    try texts.mapConfiguration { index, text throws(ConfigurationError) in
      guard let address = ServerAddress(text) else {
        throw ConfigurationError(
          subject: "\(key).\(index)", message: "not an address: \(text); HOST:PORT or unix:PATH is needed")
      }
      return address
    }
  }
}

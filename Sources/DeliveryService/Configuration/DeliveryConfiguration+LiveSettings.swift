import ContentDelivery
import ContentGrants
import CoreTypes
import Files
import HTTPServer
import ServiceRuntime
import SystemCalls

extension DeliveryConfiguration {
  /// Throws ``ConfigurationError`` for what is neither an address nor a block of them.
  func proxies() throws(ConfigurationError) -> TrustedProxies {
    TrustedProxies(
      networks: try (trustedProxies ?? []).mapConfiguration { index, text throws(ConfigurationError) in
        guard let network = PeerNetwork(text) else {
          throw ConfigurationError(
            subject: "trustedProxies.\(index)",
            message: "\(text) is no address, no block such as 10.0.0.0/8, and not unix")
        }
        return network
      })
  }

  /// Throws ``ConfigurationError`` for what is no path. Nil where none is configured: this server sends every
  /// body itself.
  func accelRedirect() throws(ConfigurationError) -> AccelRedirect? {
    guard let accelRedirectPrefix else { return nil }
    guard
      let redirect = AccelRedirect(
        prefix: accelRedirectPrefix, longest: accelRedirectLongest?.bytes,
        origin: packages == nil ? .directory : .store)
    else {
      throw ConfigurationError(subject: "accelRedirectPrefix", message: "\(accelRedirectPrefix) is no path")
    }
    return redirect
  }

  /// Throws ``ConfigurationError`` for deadlines that leave no time.
  func checkDeadlines() throws(ConfigurationError) {
    let deadlines = [("headDeadline", headDeadline), ("idleDeadline", idleDeadline)]
    _ = try deadlines.mapConfiguration { _, entry throws(ConfigurationError) in
      guard entry.1.duration > .zero else {
        throw ConfigurationError(subject: entry.0, message: "more than nothing is needed")
      }
    }
  }

  /// Throws ``ConfigurationError`` for a lifetime of tickets that is too short or too long.
  func checkTicketLifetime() throws(ConfigurationError) {
    guard ticketLifetime.duration >= .seconds(1), ticketLifetime.duration <= TicketKeyFile.memory else {
      throw ConfigurationError(
        subject: "ticketLifetime",
        message: "1s to 31d is needed: for longer than that the keys of tickets are not kept")
    }
  }

  /// How long a license is good. Throws ``ConfigurationError`` outside of 1 to 365 days.
  func licenseLifetime() throws(ConfigurationError) -> Duration {
    guard (1...365).contains(licenseDays) else {
      throw ConfigurationError(
        subject: "licenseDays", message: "a number of days from 1 to 365 is expected here")
    }
    return .seconds(licenseDays * 86_400)
  }

  /// How often refunds of what is being sent are looked for. Throws ``ConfigurationError`` outside of 1 second
  /// to 1 hour.
  func refundPollInterval() throws(ConfigurationError) -> Duration {
    guard refundPoll.duration >= .seconds(1), refundPoll.duration <= .seconds(3600) else {
      throw ConfigurationError(subject: "refundPoll", message: "1s to 1h is expected here")
    }
    return refundPoll.duration
  }

  /// Everything that may change while the server runs. Throws ``ConfigurationError``.
  ///
  /// - Parameters:
  ///   - keys: the ticket keys of the state directory.
  ///   - now: when the settings are read, which dates prices whose rules changed.
  ///   - before: the settings in use; nil at the start.
  func deliverySettings(
    keys: TicketKeys, at now: Timestamp, before: DeliverySettings? = nil
  ) throws(ConfigurationError) -> DeliverySettings {
    try checkTicketLifetime()
    let locales = try localesOfPrices()
    let isSame = before?.priceLocales == locales
    var settings = DeliverySettings(
      keys: keys, ticketLifetime: ticketLifetime.duration, classes: try classes(), proxies: try proxies(),
      accelRedirect: try accelRedirect(), origins: try crossOriginPolicy(),
      priceLocales: locales, pricesSince: isSame ? before?.pricesSince ?? now : now)
    settings.licenseLifetime = try licenseLifetime()
    return settings
  }
}

extension DeliveryConfiguration {
  /// Characters of a node's name, at most.
  private static let maximumNodeLength = 255

  /// Returns the name of this server in leases. Throws ``ConfigurationError`` for a name that is empty, longer than 255
  /// characters or not of visible ASCII characters alone, also where it is the host's.
  func nodeName() throws(ConfigurationError) -> String {
    let name: String
    do throws(SystemError) {
      name = if let node { node } else { try FileSystem.hostName() }
    } catch {
      throw ConfigurationError(
        subject: "node", message: "is needed: the host's name cannot be had (\(error))")
    }
    guard (1...Self.maximumNodeLength).contains(name.utf8.count),
      name.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw ConfigurationError(
        subject: "node",
        message: "1 to \(Self.maximumNodeLength) visible ASCII characters are expected here, no spaces")
    }
    return name
  }

  /// Throws ``ConfigurationError`` for numbers that are out of their range. Calls: 1 to 1000 at once. Refusals:
  /// 1 to 1,000,000.
  func outboxOptions() throws(ConfigurationError) -> Outbox.Options {
    guard (1...1000).contains(storeCalls) else {
      throw ConfigurationError(subject: "storeCalls", message: "a number from 1 to 1000 is expected here")
    }
    guard (1...1_000_000).contains(storeRefusals) else {
      throw ConfigurationError(
        subject: "storeRefusals", message: "a number from 1 to 1000000 is expected here")
    }
    return Outbox.Options(
      concurrency: storeCalls, patience: storePatience.duration, maximumRefusals: storeRefusals,
      node: try nodeName())
  }
}

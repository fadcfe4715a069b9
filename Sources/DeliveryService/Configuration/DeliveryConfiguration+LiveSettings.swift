import HTTPServer
import ServiceRuntime

extension DeliveryConfiguration {
  /// Throws ``ConfigurationError`` for what is neither an address nor a block of them.
  func proxies() throws(ConfigurationError) -> TrustedProxies {
    TrustedProxies(
      networks: try (trustedProxies ?? []).map { text throws(ConfigurationError) in
        guard let network = PeerNetwork(text) else {
          throw ConfigurationError(
            subject: "trustedProxies",
            message: "\(text) is no address, no block such as 10.0.0.0/8, and not unix")
        }
        return network
      })
  }

  /// Throws ``ConfigurationError`` for what is no path.
  func accelRedirect() throws(ConfigurationError) -> AccelRedirect? {
    guard let accelRedirectPrefix else { return nil }
    guard let redirect = AccelRedirect(prefix: accelRedirectPrefix, longest: accelRedirectLongest?.bytes)
    else {
      throw ConfigurationError(subject: "accelRedirectPrefix", message: "\(accelRedirectPrefix) is no path")
    }
    return redirect
  }

  /// Everything that may change while the server runs. Throws ``ConfigurationError``.
  func deliverySettings(keys: TicketKeys) throws(ConfigurationError) -> DeliverySettings {
    guard ticketLifetime.duration >= .seconds(1), ticketLifetime.duration <= TicketKeyFile.memory else {
      throw ConfigurationError(
        subject: "ticketLifetime",
        message: "1s to 31d is needed: for longer than that the keys of tickets are not kept")
    }
    return DeliverySettings(
      keys: keys, ticketLifetime: ticketLifetime.duration, classes: try classes(), proxies: try proxies(),
      accelRedirect: try accelRedirect(), origins: try crossOriginPolicy())
  }
}

extension DeliveryConfiguration {
  /// The keys whose values differ from those of `old` and count only at the next start, in the order of the
  /// options. Which these are, the options say (``CommandOption/reload``).
  func settingsThatNeedRestart(since old: DeliveryConfiguration) -> [String] {
    let keys = Self.command.options.filter { $0.reload == .needsRestart }.compactMap(\.key)
    return keys.filter { Self.value($0, in: self) != Self.value($0, in: old) }
  }

  /// What the members that `key` names hold, its parts separated by dots; nil for a member that is left out.
  private static func value(_ key: String, in configuration: DeliveryConfiguration) -> AnyHashable? {
    var value: Any = configuration
    for name in key.split(separator: ".") {
      let members = Mirror(reflecting: value).children
      guard let member = members.first(where: { $0.label.map { $0 == name } ?? false }),
        let held = unwrapped(member.value)
      else { return nil }
      value = held
    }
    return (value as? any Hashable).map { AnyHashable($0) }
  }

  private static func unwrapped(_ value: Any) -> Any? {
    let mirror = Mirror(reflecting: value)
    return mirror.displayStyle == .optional ? mirror.children.first?.value : value
  }
}

extension DeliveryConfiguration {
  /// Throws ``ConfigurationError`` for numbers that are out of their range.
  func outboxOptions() throws(ConfigurationError) -> Outbox.Options {
    guard (1...1000).contains(storeCalls) else {
      throw ConfigurationError(subject: "storeCalls", message: "a number from 1 to 1000 is expected here")
    }
    guard (1...1_000_000).contains(storeRefusals) else {
      throw ConfigurationError(
        subject: "storeRefusals", message: "a number from 1 to 1000000 is expected here")
    }
    return Outbox.Options(
      concurrency: storeCalls, patience: storePatience.duration, maximumRefusals: storeRefusals)
  }
}

import ContentDelivery
import CoreTypes
import HTTPServer
import RouteAccess
import ServiceRuntime

extension DeliveryConfiguration {
  /// Limits of one class of requests; what is missing is as by default.
  public struct AdmissionClassLimits: Decodable, Sendable {
    /// `store`, `ticket`, `completion`, `catalog`, `operator` or `upload`.
    public var `class`: String
    /// Requests a second of one address; 0 is no limit.
    public var ratePerAddress: Int64?
    /// Requests that an address may be ahead of its rate.
    public var burstPerAddress: Int64?
    /// Requests a second of one device, grant or operator key; 0 is no limit.
    public var ratePerClient: Int64?
    /// Requests that a client may be ahead of its rate.
    public var burstPerClient: Int64?
    /// Requests that are in progress at once; 0 is no limit.
    public var inProgress: Int?
  }

  /// The options of admission, in the order of the help. All are applied at a reload.
  static let admissionOptions: [CommandOption] = [
    .value(
      "requests-in-progress", "N", fallback: "256",
      help:
        "Requests that are answered at once, operators', feeds and uploads aside; those beyond wait 2 s and are answered 503"
    ),
    .value(
      "body-memory", "SIZE", fallback: "16MiB",
      help: "Memory that request bodies may take together; those beyond wait 2 s and are answered 503"),
    .list(
      "admission-class", "JSON5", environment: "PULLBOX_ADMISSION_CLASSES", key: "admissionClasses",
      help:
        "Limits of a class of requests, as in the file: {class: 'store', ratePerAddress: 500, burstPerAddress: 20000, ratePerClient: 10, burstPerClient: 300, inProgress: 192}; the classes are store, ticket, feed, completion, catalog, operator and upload; may be repeated"
    ).example("{class: 'store', ratePerAddress: 500}"),
  ]

  /// Throws ``ConfigurationError`` for limits that make no sense.
  func admissionLimits() throws(ConfigurationError) -> AdmissionLimits {
    var limits = AdmissionLimits()
    try checkRequestsInProgress()
    try checkBodyMemory()
    limits.inProgress = requestsInProgress
    limits.bodyBytes = bodyMemory.bytes
    // A trusted proxy that does not name its client stands for many.
    limits.unlimited = try unlimitedNetworks() + proxies().networks
    for (kind, entry) in try admissionClassLimits() { limits.classes[kind] = entry }
    return limits
  }

  /// Throws ``ConfigurationError`` for a number below 1.
  func checkRequestsInProgress() throws(ConfigurationError) {
    guard requestsInProgress > 0 else {
      throw ConfigurationError(subject: "requestsInProgress", message: "at least 1 is needed")
    }
  }

  /// Throws ``ConfigurationError`` for less than 8 MiB.
  func checkBodyMemory() throws(ConfigurationError) {
    // The largest body that is read may go beyond it; several proofs of 3 MiB must not depend on that.
    guard bodyMemory.bytes >= .mebibytes(8) else {
      throw ConfigurationError(subject: "bodyMemory", message: "at least 8MiB are needed")
    }
  }

  /// Throws the faults of all classes.
  func admissionClassLimits() throws(ConfigurationError) -> [(AdmissionClass, AdmissionLimits.Limits)] {
    let standard = AdmissionLimits()
    return try (admissionClasses ?? []).mapConfiguration { index, entry throws(ConfigurationError) in
      guard let kind = AdmissionClass(rawValue: entry.class) else {
        throw ConfigurationError(
          subject: "admissionClasses.\(index)",
          message: "no class is named \(entry.class); there are "
            + AdmissionClass.allCases.map(\.rawValue).joined(separator: ", "))
      }
      return (kind, try entry.limits(over: standard[kind], key: "admissionClasses.\(index)"))
    }
  }

  /// Throws ``ConfigurationError`` for what is neither an address nor a block of them.
  func unlimitedNetworks() throws(ConfigurationError) -> [PeerNetwork] {
    try (unlimitedAddresses ?? []).mapConfiguration { index, text throws(ConfigurationError) in
      guard let network = PeerNetwork(text) else {
        throw ConfigurationError(
          subject: "unlimitedAddresses.\(index)",
          message: "not a network: \(text); such as 10.0.0.0/8 or 2001:db8::1")
      }
      return network
    }
  }

  /// Throws ``ConfigurationError`` for what is no origin.
  func crossOriginPolicy() throws(ConfigurationError) -> CrossOriginPolicy {
    guard let origins = cors?.origins else { return .none }
    guard let policy = CrossOriginPolicy(origins) else {
      throw ConfigurationError(
        subject: "cors.origins",
        message: "each is * or an origin such as https://shop.example, in lower case and without a path")
    }
    return policy
  }
}

extension DeliveryConfiguration.AdmissionClassLimits {
  /// Returns the limits of a class with what the entry says in place of the default's. `key` names the entry in
  /// refusals.
  fileprivate func limits(
    over base: AdmissionLimits.Limits, key: String
  ) throws(ConfigurationError) -> AdmissionLimits.Limits {
    func bucket(
      _ rate: Int64?, _ burst: Int64?, over base: TokenBucket?
    ) throws(ConfigurationError) -> TokenBucket? {
      guard let rate = rate ?? base?.rate, rate != 0 else { return nil }
      let burst = burst ?? base?.burst ?? rate
      guard (1...1_000_000_000).contains(rate), (1...1_000_000_000).contains(burst) else {
        throw ConfigurationError(
          subject: key, message: "\(self.class): rates and bursts are from 1 to 1000000000")
      }
      return TokenBucket(rate: rate, burst: burst)
    }
    guard inProgress ?? 0 >= 0 else {
      throw ConfigurationError(
        subject: key, message: "\(self.class): inProgress is not below 0")
    }
    return AdmissionLimits.Limits(
      address: try bucket(ratePerAddress, burstPerAddress, over: base.address),
      client: try bucket(ratePerClient, burstPerClient, over: base.client),
      inProgress: inProgress.map { $0 == 0 ? .max : $0 } ?? base.inProgress)
  }
}

import ContentDelivery
import CoreTypes
import DeliveryModel
import DeliveryRecords
public import ServiceRuntime

extension DeliveryConfiguration {
  /// The limits of the downloads of one purchase and of one device. A limit that a rate class leaves out
  /// is the one of all other products.
  public struct Limits: Decodable, Sendable {
    /// Bodies of one purchase on one device that may run at once.
    public var bodiesPerGrant: Int?
    /// Bodies of one device that may run at once.
    public var bodiesPerDevice: Int?
    /// The rate of one purchase on one device.
    public var ratePerGrant: Rate?
    /// The rate of one device.
    public var ratePerDevice: Rate?
    /// Bytes that may run ahead of the rate.
    public var burst: ConfigurationSize?
  }

  /// Limits of their own for some products.
  public struct RateClass: Decodable, Sendable {
    /// The number that tickets carry: 1 to 255.
    public var number: Int
    /// Product identifiers; one that ends in `*` stands for all that begin so.
    public var products: [String]
    /// The limits of the class. A limit that it leaves out is the one of all other products.
    public var limits: Limits
  }

  /// Bytes a second, or `unlimited`.
  public enum Rate: Decodable, Hashable, Sendable {
    /// No limit.
    case unlimited
    /// At least 1024.
    case bytes(Int64)

    /// Reads a size (a number of bytes, or a text such as `20MiB`) or the word `unlimited`.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self), text == "unlimited" {
        self = .unlimited
        return
      }
      let rate = try ConfigurationSize(from: decoder).bytes.rawValue
      guard rate >= 1024 else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "at least 1KiB a second, or unlimited, is expected here")
      }
      self = .bytes(rate)
    }
  }

  /// The options' defaults. See docs/delivery.md for the reasons.
  static let standardLimits = (bodies: 64, bodiesPerDevice: 128, rate: "4GiB", burst: "8GiB")

  /// The options of tickets and rates, in the order of the help. All are applied at a reload.
  static let limitOptions: [CommandOption] = [
    .value("ticket-lifetime", "DURATION", fallback: "15m", help: "How long a ticket opens its content"),
    .value(
      "license-days", "N", fallback: "30",
      help: "Days for which a license answers a device without a network, 1 to 365"),
    .value(
      "bodies-per-grant", "N", fallback: "\(standardLimits.bodies)", key: "limits.bodiesPerGrant",
      help: "Bodies of one purchase on one device that may run at once"),
    .value(
      "bodies-per-device", "N", fallback: "\(standardLimits.bodiesPerDevice)", key: "limits.bodiesPerDevice",
      help: "Bodies of one device that may run at once"),
    .value(
      "rate-per-grant", "BYTES", fallback: standardLimits.rate, key: "limits.ratePerGrant",
      help: "Bytes a second for one purchase on one device, such as 20MiB, or unlimited"),
    .value(
      "rate-per-device", "BYTES", fallback: standardLimits.rate, key: "limits.ratePerDevice",
      help: "Bytes a second for one device, or unlimited"),
    .value(
      "burst", "BYTES", fallback: standardLimits.burst, key: "limits.burst",
      help: "Bytes that may be sent ahead of a rate"),
    .list(
      "rate-class", "JSON5", environment: "PULLBOX_RATE_CLASSES", key: "rateClasses",
      help:
        "Limits of their own for some products, as in the file: {number: 1, products: ['com.example.free.*'], limits: {ratePerGrant: '2MiB'}}; may be repeated"
    ).example("{number: 1, products: ['com.example.free.*'], limits: {ratePerGrant: '2MiB'}}"),
  ]

  /// Throws ``ConfigurationError`` for limits that make no sense.
  func classes() throws(ConfigurationError) -> RateClasses {
    RateClasses(standard: try rateLimits(), named: try namedClasses())
  }

  /// When a release pauses itself. Throws ``ConfigurationError`` for what is no share.
  func releaseStopRule() throws(ConfigurationError) -> ReleaseStopRule {
    guard ReleaseStopRule.shares.contains(stopShare) else {
      throw ConfigurationError(subject: "stopShare", message: "it is 0 to 100 percent, not \(stopShare)")
    }
    return ReleaseStopRule(share: stopShare)
  }

  /// The limits of all products that no rate class names.
  func rateLimits() throws(ConfigurationError) -> RateLimits {
    try rateLimits(limits, over: nil, key: "limits")
  }

  /// Throws the faults of all rate classes.
  func namedClasses() throws(ConfigurationError) -> [RateClasses.Named] {
    var numbers: Set<Int> = []
    return try (rateClasses ?? []).mapConfiguration { index, entry throws(ConfigurationError) in
      guard (1...255).contains(entry.number), numbers.insert(entry.number).inserted else {
        throw ConfigurationError(
          subject: "rateClasses.\(index)", message: "\(entry.number) is not a number from 1 to 255 of its own"
        )
      }
      return RateClasses.Named(
        number: UInt8(entry.number), products: entry.products,
        limits: try rateLimits(entry.limits, over: limits, key: "rateClasses.\(index)"))
    }
  }

  /// Returns the limits of one class; what it leaves out is that of `base`, then the default. Throws
  /// ``ConfigurationError`` for no body at all, and for a burst below 64 KiB.
  private func rateLimits(
    _ limits: Limits, over base: Limits?, key: String
  ) throws(ConfigurationError) -> RateLimits {
    let grant = limits.bodiesPerGrant ?? base?.bodiesPerGrant ?? Self.standardLimits.bodies
    let device = limits.bodiesPerDevice ?? base?.bodiesPerDevice ?? Self.standardLimits.bodiesPerDevice
    let burst = (limits.burst ?? base?.burst)?.bytes.rawValue ?? 8 << 30
    guard grant > 0, device > 0, burst >= 65_536 else {
      throw ConfigurationError(
        subject: key, message: "at least one body and a burst of 64KiB are needed")
    }
    func bucket(_ rate: Rate?) -> TokenBucket? {
      guard case .bytes(let rate) = rate else { return nil }
      return TokenBucket(rate: rate, burst: burst)
    }
    return RateLimits(
      bodiesPerGrant: grant, bodiesPerDevice: device,
      grant: bucket(limits.ratePerGrant ?? base?.ratePerGrant),
      device: bucket(limits.ratePerDevice ?? base?.ratePerDevice))
  }
}

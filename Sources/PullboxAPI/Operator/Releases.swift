public import Measures

/// `POST /v1/operator/products/{id}/versions/{v}/release`; both members may be left out: to all devices, at once.
public struct ReleaseRequest: Codable, Sendable {
  /// How many devices of a hundred get it: 1 to 100. The others stay with the version that all devices get.
  public var percentage: Int?
  /// A date that has passed is at once.
  public var at: Timestamp?

  public init(percentage: Int? = nil, at: Timestamp? = nil) {
    self.percentage = percentage
    self.at = at
  }
}

/// A release that waits for its date.
public struct ScheduledRelease: Codable, Hashable, Sendable {
  public var at: Timestamp
  /// 1 to 100.
  public var percentage: Int
  /// The name of the operator key that asked for it.
  public var by: String

  public init(at: Timestamp, percentage: Int, by: String) {
    self.at = at
    self.percentage = percentage
    self.by = by
  }
}

/// `POST /v1/operator/products/{id}/versions/{v}/withdraw`; both members may be left out.
public struct WithdrawalRequest: Codable, Sendable {
  public var reason: String?
  /// Downloads that run are broken off, and grants made before open the content no more.
  public var stopDownloads: Bool?

  public init(reason: String? = nil, stopDownloads: Bool? = nil) {
    self.reason = reason
    self.stopDownloads = stopDownloads
  }
}

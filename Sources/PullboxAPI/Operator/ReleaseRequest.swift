public import CoreTypes

/// `POST /v1/operator/products/{id}/versions/{v}/release`; both members may be left out: to all devices, at once.
public struct ReleaseRequest: Codable, Sendable, OperatorWritten {
  /// How many devices of a hundred get it: 1 to 100. The others stay with the version that all devices get.
  public var percentage: Int?
  /// A date that has passed is at once.
  public var at: Timestamp?

  public init(percentage: Int? = nil, at: Timestamp? = nil) {
    self.percentage = percentage
    self.at = at
  }
}

public import CoreTypes

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

public import Commerce
public import CoreTypes

/// `GET /v1/operator/deliveries/failures`: how the deliveries go that have not come to their end, and why some of them do not. It counts
/// among the newest grants, as many as ``looked`` says.
public struct DeliveryFailures: Codable, Sendable {
  /// Deliveries that fail for one reason, of purchases made in one application.
  public struct Row: Codable, Hashable, Sendable {
    /// Why they fail: `stuck` and `unverified` as ``DeliveryProgress`` says, `revoked` for what was taken back before it was placed.
    public var reason: String
    /// The application that the purchases were made in; absent where their store does not tell it.
    public var application: ApplicationIdentifier?
    /// How many grants they are.
    public var grants: Int
    /// How many devices the grants are for.
    public var devices: Int
    /// When the newest of these grants was made.
    public var latest: Timestamp

    /// Creates the row from its members.
    public init(
      reason: String, application: ApplicationIdentifier?, grants: Int, devices: Int, latest: Timestamp
    ) {
      self.reason = reason
      self.application = application
      self.grants = grants
      self.devices = devices
      self.latest = latest
    }
  }

  /// Grants that wait: ``DeliveryProgress/waiting``.
  public var waiting: Int
  /// Grants under way: ``DeliveryProgress/fetching``.
  public var fetching: Int
  /// The failures, those with the most grants first.
  public var failures: [Row]
  /// Grants that were looked at: the newest that are not placed.
  public var looked: Int
  /// Whether these are all that the filter has.
  public var isComplete: Bool

  /// Creates the document from its members.
  public init(waiting: Int, fetching: Int, failures: [Row], looked: Int, isComplete: Bool) {
    self.waiting = waiting
    self.fetching = fetching
    self.failures = failures
    self.looked = looked
    self.isComplete = isComplete
  }
}

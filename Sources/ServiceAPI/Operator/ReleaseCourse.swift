public import Commerce
public import CoreTypes

/// `GET /v1/operator/products/{id}/versions/{v}/course`: how many devices have placed a version, hour by hour, and how near its release is
/// to pausing itself.
public struct ReleaseCourse: Codable, Sendable {
  /// The devices that placed it first in one hour.
  public struct Hour: Codable, Hashable, Sendable {
    /// When the hour begins: a whole hour of UTC.
    public var start: Timestamp
    /// How many devices they are.
    public var devices: Int

    /// Creates the hour from its members.
    public init(start: Timestamp, devices: Int) {
      self.start = start
      self.devices = devices
    }
  }

  /// The product.
  public var product: ProductIdentifier
  /// The version.
  public var version: ContentVersion
  /// The hours in which devices placed it, the earliest first; hours without any are left out.
  public var hours: [Hour]
  /// Whether ``hours`` count all devices; of very many, they count some.
  public var isComplete: Bool
  /// Purchases of which a device could not verify the version, and none placed it, since it was last released.
  public var failed: Int
  /// Purchases of which a device placed it, counted as far as the rule needs.
  public var verified: Int
  /// More than so many percent of the purchases pause the release; absent where nothing does.
  public var pausesAbove: Int?
  /// The number of purchases from which the rule concludes anything.
  public var pausesFrom: Int?

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, version: ContentVersion, hours: [Hour], isComplete: Bool, failed: Int,
    verified: Int, pausesAbove: Int?, pausesFrom: Int?
  ) {
    self.product = product
    self.version = version
    self.hours = hours
    self.isComplete = isComplete
    self.failed = failed
    self.verified = verified
    self.pausesAbove = pausesAbove
    self.pausesFrom = pausesFrom
  }
}

public import Commerce
public import CoreTypes

/// `GET /v1/operator/products/{id}/versions/{v}/costs`: what a version costs the devices that hold another one. A device
/// holds the version that it last reported as placed.
public struct UpdateSizes: Codable, Sendable {
  /// Devices that hold the same version, and what each of them needs.
  public struct Holder: Codable, Sendable {
    /// The version that these devices hold.
    public var version: ContentVersion
    /// How many devices hold it.
    public var devices: Int
    /// How many of these devices the asked percentage would give the version to.
    public var devicesReached: Int
    /// Bytes of the package that one device lacks.
    public var bytesToFetch: ByteCount
    /// Bytes of the package whose files one device has.
    public var bytesKept: ByteCount
    /// Files with the same bytes at the same path.
    public var filesUnchanged: Int
    /// At the same path with other bytes.
    public var filesChanged: Int
    /// Files of the new version that the held one does not have.
    public var filesAdded: Int
    /// Files of the held version that the new one does not have.
    public var filesRemoved: Int

    /// Creates the document from its members.
    public init(
      version: ContentVersion, devices: Int, devicesReached: Int, bytesToFetch: ByteCount,
      bytesKept: ByteCount, filesUnchanged: Int, filesChanged: Int, filesAdded: Int, filesRemoved: Int
    ) {
      self.version = version
      self.devices = devices
      self.devicesReached = devicesReached
      self.bytesToFetch = bytesToFetch
      self.bytesKept = bytesKept
      self.filesUnchanged = filesUnchanged
      self.filesChanged = filesChanged
      self.filesAdded = filesAdded
      self.filesRemoved = filesRemoved
    }
  }

  /// The product.
  public var product: ProductIdentifier
  /// The version that is to be released.
  public var version: ContentVersion
  /// Bytes of the package: what a device without any version fetches.
  public var length: ByteCount
  /// How many devices of a hundred the sizes are for: 1 to 100.
  public var percentage: Int
  /// By version, the newest first; the version itself is among them where devices hold it.
  public var holders: [Holder]
  /// Bytes that all reached devices together have to fetch.
  public var bytesToFetch: ByteCount

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, version: ContentVersion, length: ByteCount, percentage: Int,
    holders: [Holder], bytesToFetch: ByteCount
  ) {
    self.product = product
    self.version = version
    self.length = length
    self.percentage = percentage
    self.holders = holders
    self.bytesToFetch = bytesToFetch
  }
}

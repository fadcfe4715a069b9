public import Commerce
public import CoreTypes

/// `GET /v1/operator/products/{id}/versions/{v}/costs`: what a version costs the devices that hold another one. A device
/// holds the version that it last reported as placed.
public struct UpdateSizes: Codable, Sendable {
  /// Devices that hold the same version, and what each of them needs.
  public struct Holder: Codable, Sendable {
    public var version: ContentVersion
    public var devices: Int
    /// Of these devices, how many the asked percentage would give the version to.
    public var devicesReached: Int
    /// Bytes of the package that one device lacks.
    public var bytesToFetch: ByteCount
    /// Bytes of the package whose files one device has.
    public var bytesKept: ByteCount
    public var filesUnchanged: Int
    /// At the same path with other bytes.
    public var filesChanged: Int
    public var filesAdded: Int
    public var filesRemoved: Int

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

  public var product: ProductIdentifier
  public var version: ContentVersion
  /// Of the package: what a device without any version fetches.
  public var length: ByteCount
  public var percentage: Int
  /// By version, the newest first; the version itself is among them where devices hold it.
  public var holders: [Holder]
  /// Bytes that all reached devices together have to fetch.
  public var bytesToFetch: ByteCount

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

public import Commerce
public import CoreTypes

/// A product as the operator sees it.
public struct OperatorProduct: Codable, Sendable {
  public var product: Product
  /// To whoever asks; a product that only a part of the devices gets is for sale to these alone.
  public var clearedForSale: Bool
  public var created: Timestamp
  public var changed: Timestamp
  /// The newest first; not all where `versionCount` is more, but those that are released always.
  public var versions: [VersionRecord]
  public var versionCount: Int

  public init(
    product: Product, clearedForSale: Bool, created: Timestamp, changed: Timestamp, versions: [VersionRecord],
    versionCount: Int
  ) {
    self.product = product
    self.clearedForSale = clearedForSale
    self.created = created
    self.changed = changed
    self.versions = versions
    self.versionCount = versionCount
  }
}

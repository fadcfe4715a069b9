package import Commerce
import DeliveryModel
package import DeliveryRecords

/// A product in memory, with what is released of it.
extension CatalogSnapshot {
  /// An object, which all catalogs share that have it.
  package final class Entry: Sendable {
    /// The product's row, with its state of sale and its dates.
    package let row: ProductTable.Entry
    private let toAll: Release?
    private let toPart: Release?

    package var product: Product { row.product }
    /// The content for every device that is in no partial release.
    package var releasedToAll: ReleasedContent? { toAll?.content }
    /// The content that a part of the devices gets in its place.
    package var releasedToPart: PartialRelease? {
      toPart.map { PartialRelease(content: $0.content, share: $0.share) }
    }

    /// Creates an entry with nothing released.
    package convenience init(row: ProductTable.Entry) {
      self.init(row: row, toAll: nil, toPart: nil)
    }

    private init(row: ProductTable.Entry, toAll: Release?, toPart: Release?) {
      self.row = row
      self.toAll = toAll
      self.toPart = toPart
    }

    /// The same with what is released to that share of the devices.
    func adding(_ content: ReleasedContent, to share: RolloutPercentage) -> Entry {
      let release = Release(content, share: share, of: row.product.id)
      return share.isAll
        ? Entry(row: row, toAll: release, toPart: toPart) : Entry(row: row, toAll: toAll, toPart: release)
    }
  }

  /// A release to a part of the devices.
  package struct PartialRelease: Sendable {
    /// The content that these devices get.
    var content: ReleasedContent
    /// The part, in percent, which devices are in by a hash of their names.
    var share: RolloutPercentage
  }

  /// An object, so that a product with nothing released has no room for it.
  private final class Release: Sendable {
    let content: ReleasedContent
    let share: RolloutPercentage

    /// The name is kept once for the product and what is released of it.
    init(_ content: ReleasedContent, share: RolloutPercentage, of product: ProductIdentifier) {
      var content = content
      content.product = product
      self.content = content
      self.share = share
    }
  }
}

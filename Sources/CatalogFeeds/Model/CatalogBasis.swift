import ContentCatalog
import CoreTypes
import DeliveryRecords

/// The state of the catalog that a document shows: another one shows something else.
struct CatalogBasis: Hashable, Sendable {
  /// The state of the possessions of a reader who shows a key.
  struct Reader: Hashable, Sendable {
    var generation: UInt64
    var hasPlace: Bool
  }

  var revision: Int64
  var sale: SteadySale
  /// Prices may be written by other rules since.
  var pricesSince: Timestamp
  /// Nil for a document that is the same for all.
  var reader: Reader?

  init(_ catalog: CatalogSnapshot, at now: Timestamp, pricesSince: Timestamp) {
    revision = catalog.revision.number
    sale = catalog.steadySale(around: now)
    self.pricesSince = pricesSince
  }
}

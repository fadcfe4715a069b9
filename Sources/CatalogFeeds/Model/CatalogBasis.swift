import ContentCatalog
import CoreTypes
import DeliveryRecords

/// The state of the catalog that a document shows: another one shows something else.
struct CatalogBasis: Hashable, Sendable {
  var revision: Int64
  var sale: SteadySale
  /// Prices may be written by other rules since.
  var pricesSince: Timestamp

  init(_ catalog: CatalogSnapshot, at now: Timestamp, pricesSince: Timestamp) {
    revision = catalog.revision.number
    sale = catalog.steadySale(around: now)
    self.pricesSince = pricesSince
  }
}

import ContentCatalog
import CoreTypes
import DeliveryRecords
import PullboxAPIServer
import ServiceRuntime
import Synchronization

/// The documents of the public catalog that were asked for last, each for as long as the catalog says the same.
final class FeedDocumentCache: Sendable {
  /// Documents that are kept.
  static let maximumCount = 1024
  /// Bytes that they may take together.
  static let maximumLength = ByteCount.mebibytes(32)

  /// The state of the catalog that a document shows.
  struct Basis: Hashable, Sendable {
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

  private struct Made: Sendable {
    var basis: Basis
    var document: ConditionalJSON.Document
  }

  private let documents = Mutex(
    RecentlyUsedCache<String, Made>(maximumCount: maximumCount, maximumLength: maximumLength))

  /// The document of that address; nil where none was made on that basis.
  func document(at address: String, on basis: Basis) -> ConditionalJSON.Document? {
    documents.withLock { $0.value(for: address) }.flatMap { $0.basis == basis ? $0.document : nil }
  }

  /// Keeps a document in place of what the address had.
  func keep(_ document: ConditionalJSON.Document, at address: String, on basis: Basis) {
    documents.withLock {
      $0.insert(Made(basis: basis, document: document), for: address, length: document.length)
    }
  }
}

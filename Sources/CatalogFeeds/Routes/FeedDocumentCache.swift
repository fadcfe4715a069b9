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

  private struct Made: Sendable {
    var basis: CatalogBasis
    var document: ConditionalJSON.Document
  }

  private let documents = Mutex(
    RecentlyUsedCache<String, Made>(maximumCount: maximumCount, maximumLength: maximumLength))

  /// The document of that address; nil where none was made on that basis.
  func document(at address: String, on basis: CatalogBasis) -> ConditionalJSON.Document? {
    documents.withLock { $0.value(for: address) }.flatMap { $0.basis == basis ? $0.document : nil }
  }

  /// Keeps a document in place of what the address had.
  func keep(_ document: ConditionalJSON.Document, at address: String, on basis: CatalogBasis) {
    documents.withLock {
      $0.insert(Made(basis: basis, document: document), for: address, length: document.length)
    }
  }
}

import Commerce
import ContentCatalog
import CoreTypes
import DeliveryRecords
import PullboxAPIServer
import ServiceRuntime
import Synchronization

/// The documents of the catalog that were asked for last, each for as long as what it shows is the same.
final class FeedDocumentCache: Sendable {
  /// Documents that are kept.
  static let maximumCount = 1024
  /// Bytes that they may take together.
  static let maximumLength = ByteCount.mebibytes(32)

  /// A document with what it shows of how far its reader has read.
  struct Made: Sendable {
    var document: ConditionalJSON.Document
    /// The products of which the document tells how far they were read.
    var products: [ProductIdentifier] = []
    var marks: [ProductIdentifier: ReadingMark] = [:]
  }

  private struct Entry: Sendable {
    var basis: CatalogBasis
    var made: Made
  }

  private let documents = Mutex(
    RecentlyUsedCache<String, Entry>(maximumCount: maximumCount, maximumLength: maximumLength))

  /// The document of that address; nil where none was made on that basis.
  func document(at address: String, on basis: CatalogBasis) -> Made? {
    documents.locked { $0.value(for: address) }.flatMap { $0.basis == basis ? $0.made : nil }
  }

  /// Keeps a document in place of what the address had.
  func keep(_ made: Made, at address: String, on basis: CatalogBasis) {
    documents.locked {
      $0.insert(Entry(basis: basis, made: made), for: address, length: made.document.length)
    }
  }
}

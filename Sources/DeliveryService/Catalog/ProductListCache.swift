import PullboxAPIServer
import Synchronization

/// `products_v1.json` as it is sent. Made, compressed and hashed once for each change of the catalog, and not for each
/// request.
final class ProductListCache: Sendable {
  private struct CachedDocument {
    var mark: CatalogRevision.Mark
    var document: ConditionalJSON.Document
  }

  private let catalog: Catalog
  private let made: Mutex<CachedDocument?> = Mutex(nil)

  init(catalog: Catalog) {
    self.catalog = catalog
  }

  func document() async throws -> ConditionalJSON.Document {
    let mark = try await catalog.mark()
    if let made = made.withLock({ $0 }), made.mark == mark { return made.document }
    let (identifiers, current) = try await catalog.identifiersForSale()
    let document = try ConditionalJSON.Document(identifiers, lastModified: current.changed)
    made.withLock { held in
      // Two requests may have made one; the older must not take the newer's place.
      if let held, held.mark.revision > current.revision { return }
      held = CachedDocument(mark: current, document: document)
    }
    return document
  }
}

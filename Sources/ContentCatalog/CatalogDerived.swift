import Commerce
import CoreTypes
import DeliveryRecords
import PullboxAPI
import Synchronization
import SystemCalls

/// A value computed from the whole catalog: once for each change of the catalog, its own or one that a product's dates
/// bring, and not for each request.
///
///     let names = CatalogDerived { catalog, _ in catalog.publicationNames.sorted() }
///     let page = try await names.value(of: try await cache.current(), at: clock.now())
final class CatalogDerived<Value: Sendable>: Sendable {
  private struct Made {
    var revision: CatalogRevision
    var sale: SteadySale
    var value: Value
  }

  private let make: @Sendable (CatalogSnapshot, Timestamp) throws -> Value
  private let made: Mutex<Made?> = Mutex(nil)

  /// `make` runs on a thread for computations.
  init(_ make: @escaping @Sendable (CatalogSnapshot, Timestamp) throws -> Value) {
    self.make = make
  }

  /// Throws what the maker throws.
  func value(of catalog: CatalogSnapshot, at now: Timestamp) async throws -> Value {
    if let made = made.withLock({ $0 }), made.revision == catalog.revision, made.sale.contains(now) {
      return made.value
    }
    let value = try await BlockingPool.computing.run { [make] in try make(catalog, now) }
    made.withLock { held in
      // Two requests may have made one; the older must not take the newer's place.
      if let kept = held, kept.revision.number > catalog.revision.number { return }
      held = Made(revision: catalog.revision, sale: catalog.steadySale(around: now), value: value)
    }
    return value
  }
}

/// The publications that products name and the products of none, each in the order of the lists.
struct PublicationIndex: Sendable {
  let publications: [ProductIdentifier]
  let singles: [ProductIdentifier]

  init(_ catalog: CatalogSnapshot) {
    publications = catalog.publicationNames.sorted { one, other in
      (catalog.described[one]?.order ?? .max, one) < (catalog.described[other]?.order ?? .max, other)
    }
    singles = catalog.entriesInOrder.filter { $0.product.publication == nil }.map(\.product.id)
  }
}

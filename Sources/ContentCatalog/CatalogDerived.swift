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
  /// The value that was made last, and for which revision and which time it holds.
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

  /// Throws what the maker throws. The value of an earlier revision or of other dates is made anew. Two
  /// requests at one time may both make it.
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
  /// Those that products name: by their number in the order of lists, without one last, and then by identifier.
  let publications: [ProductIdentifier]
  /// Products of no publication, by identifier.
  let singles: [ProductIdentifier]

  /// Sorts the whole catalog, so it is made on a thread for computations.
  init(_ catalog: CatalogSnapshot) {
    publications = catalog.publicationNames.sorted { one, other in
      (catalog.described[one]?.order ?? .max, one) < (catalog.described[other]?.order ?? .max, other)
    }
    singles = catalog.entriesInOrder.filter { $0.product.publication == nil }.map(\.product.id)
  }
}

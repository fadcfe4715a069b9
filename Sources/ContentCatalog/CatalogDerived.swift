package import Commerce
package import CoreTypes
import DeliveryRecords
import PullboxAPI
import ServiceAPI
import Synchronization
import SystemCalls

/// The part of the catalog that a derived value comes from: it is made anew where this has changed, and not before.
package enum CatalogBasis: Sendable {
  /// Everything, and what the dates of products say at the time.
  case sale
  /// Everything, at whichever time.
  case products
  /// The set of the products' identifiers alone.
  case names
}

/// A value computed from the whole catalog: once for each change of its basis, one that a product's dates bring included
/// where these count, and not for each request.
///
///     let names = CatalogDerived(from: .products) { catalog, _ in catalog.publicationNames.sorted() }
///     let page = try await names.value(of: try await cache.current(), at: clock.now())
package final class CatalogDerived<Value: Sendable>: Sendable {
  /// The value that was made last, and for which catalog and which time it holds.
  private struct Made {
    var revision: CatalogRevision
    var namesRevision: CatalogRevision
    var sale: SteadySale
    var value: Value
  }

  private let basis: CatalogBasis
  private let make: @Sendable (CatalogSnapshot, Timestamp) throws -> Value
  private let made: Mutex<Made?> = Mutex(nil)

  /// `make` runs on a thread for computations, and reads nothing but the basis.
  package init(
    from basis: CatalogBasis = .sale, _ make: @escaping @Sendable (CatalogSnapshot, Timestamp) throws -> Value
  ) {
    self.basis = basis
    self.make = make
  }

  /// Throws what the maker throws. The value of an earlier basis is made anew. Two requests at one time may both
  /// make it.
  package func value(of catalog: CatalogSnapshot, at now: Timestamp) async throws -> Value {
    if let made = made.locked({ $0 }), holds(made, for: catalog, at: now) { return made.value }
    let value = try await BlockingPool.computing.run { [make] in try make(catalog, now) }
    made.locked { held in
      // Two requests may have made one; the older must not take the newer's place.
      if let kept = held, kept.revision.number > catalog.revision.number { return }
      held = Made(
        revision: catalog.revision, namesRevision: catalog.namesRevision,
        sale: catalog.steadySale(around: now), value: value)
    }
    return value
  }

  private func holds(_ made: Made, for catalog: CatalogSnapshot, at now: Timestamp) -> Bool {
    switch basis {
    case .sale: made.revision == catalog.revision && made.sale.contains(now)
    case .products: made.revision == catalog.revision
    case .names: made.namesRevision == catalog.namesRevision
    }
  }
}

/// The publications that products name and the products of none, each in the order of the lists.
package struct PublicationIndex: Sendable {
  /// Those that products name: by their number in the order of lists, without one last, and then by identifier.
  package let publications: [ProductIdentifier]
  /// Products of no publication, by identifier.
  package let singles: [ProductIdentifier]

  /// Sorts the whole catalog, so it is made on a thread for computations.
  package init(_ catalog: CatalogSnapshot) {
    publications = catalog.publicationNames.sorted { one, other in
      (catalog.described[one]?.order ?? .max, one) < (catalog.described[other]?.order ?? .max, other)
    }
    singles = catalog.entriesInOrder.filter { $0.product.publication == nil }.map(\.product.id)
  }
}

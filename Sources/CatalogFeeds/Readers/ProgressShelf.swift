package import Commerce
import ContentCatalog
package import ContentGrants
import CoreTypes
import Database
package import DeliveryRecords
package import PullboxAPI
package import PullboxAPIServer

/// How far customers have read, for those who show a reader's key. `GrantService` keeps it.
package struct ProgressShelf: Sendable {
  /// Products whose marks feeds know of one customer: those that were read last.
  static let maximumMarks = 2_000

  private let grants: GrantService

  package init(grants: GrantService) {
    self.grants = grants
  }

  /// The last that was told of the product; nil where it was not read. Throws what the database throws.
  package func progress(of product: ProductIdentifier, by key: ReaderKey) async throws -> ReadingProgress? {
    try await grants.progress(of: product, by: key.customer)
  }

  /// Takes in what an application tells, and returns what counts from then on. Throws `unauthorized` for a key that has been removed, and
  /// `precondition-failed`.
  ///
  /// - Parameters:
  ///   - conditions: held against what counted before.
  ///   - shown: makes of that what applications are shown, whose tags conditions name.
  package func put(
    _ progress: ReadingProgress, of product: ProductIdentifier, by key: ReaderKey,
    where conditions: WriteConditions = .none,
    shown: @escaping @Sendable (ReadingProgress) -> ReadingProgress = { $0 }
  ) async throws -> ReadingProgress {
    try await grants.put(progress, of: product, by: key.customer) { before, connection in
      guard try ReaderKeyTable.find(key.name, in: connection) != nil else { throw Problem(.unauthorized) }
      try conditions.check(before.map(shown))
    }
  }

  /// How far the customer has read these products. Throws what the database throws.
  package func progress(
    of products: some Sequence<ProductIdentifier>, by key: ReaderKey
  ) async throws -> ReaderProgress {
    let products = Array(products)
    guard !products.isEmpty else { return ReaderProgress([]) }
    return ReaderProgress(
      try await grants.grantStore.database.read {
        try ReadingProgressTable.marks(of: key.customer, among: products, in: $0)
      })
  }

  /// How far the customer has read, of all products. Throws what the database throws.
  package func all(of key: ReaderKey) async throws -> ReaderProgress {
    ReaderProgress(
      try await grants.grantStore.database.read {
        try ReadingProgressTable.marks(of: key.customer, limit: Self.maximumMarks, in: $0)
      })
  }
}

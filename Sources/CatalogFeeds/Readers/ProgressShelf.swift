package import Commerce
import ContentCatalog
package import ContentGrants
import CoreTypes
import Database
package import DeliveryRecords
package import PullboxAPI
package import PullboxAPIServer

/// Keeps how far customers have read: the later of two words about a product stays, and of two of one time that of the device whose name
/// comes behind, so that all who hear both know the same.
package struct ProgressShelf: Sendable {
  /// Products whose marks feeds know of one customer: those that were read last.
  static let maximumMarks = 2_000

  private let grants: GrantService

  package init(grants: GrantService) {
    self.grants = grants
  }

  /// The last that was told of the product; nil where it was not read. Throws what the database throws.
  package func progress(of product: ProductIdentifier, by key: ReaderKey) async throws -> ReadingProgress? {
    let document = try await grants.grantStore.database.read {
      try ReadingProgressTable.document(of: product, by: key.customer, in: $0)
    }
    return try document.map { try APIJSON.decode(ReadingProgress.self, from: Array($0.utf8)) }
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
    let document = String(decoding: try APIJSON.encode(progress), as: UTF8.self)
    let mark = ReadingMark(
      product: product, modified: progress.modified, page: progress.page, millionths: progress.millionths)
    let standing = try await grants.grantStore.database.write(locking: []) { connection -> String? in
      let customer = try CustomerTable.lockCurrent(key.customer, in: connection)
      guard try ReaderKeyTable.find(key.name, in: connection) != nil else { throw Problem(.unauthorized) }
      let before = try ReadingProgressTable.document(of: product, by: customer, in: connection)
      try conditions.check(
        before.map { shown(try APIJSON.decode(ReadingProgress.self, from: Array($0.utf8))) })
      try ReadingProgressTable.put(
        mark, of: customer, by: progress.device.id, document: document, in: connection)
      return try ReadingProgressTable.document(of: product, by: customer, in: connection)
    }
    return try standing.map { try APIJSON.decode(ReadingProgress.self, from: Array($0.utf8)) } ?? progress
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

import CatalogDocuments
package import Commerce
package import CoreTypes
package import DeliveryRecords

/// The products that a reader owns, as far as they have content.
package struct OwnedProducts: Sendable {
  /// The content of one of them.
  package struct Content: Hashable, Sendable {
    package var content: ReleasedContent
    /// When the purchase that pays for it was made.
    package var purchased: Timestamp
    /// Until when it is open, as far as is known; nil for good.
    package var until: Timestamp?
    /// The transaction that pays for it; nil where none is known.
    package var transaction: TransactionKey?

    package init(
      content: ReleasedContent, purchased: Timestamp, until: Timestamp? = nil,
      transaction: TransactionKey? = nil
    ) {
      self.content = content
      self.purchased = purchased
      self.until = until
      self.transaction = transaction
    }
  }

  package let contents: [ProductIdentifier: Content]
  /// Another number for other contents.
  package var generation: UInt64 = 0
  /// Whether the reader's key has a place among the devices of its customer.
  package var hasPlace: Bool
  /// The newest purchase first.
  let shelf: Shelf

  package init(_ contents: [ProductIdentifier: Content], hasPlace: Bool) {
    self.contents = contents
    self.hasPlace = hasPlace
    shelf = Shelf(
      contents.sorted { one, other in
        one.value.purchased == other.value.purchased
          ? one.key < other.key : one.value.purchased > other.value.purchased
      }.map(\.key))
  }
}

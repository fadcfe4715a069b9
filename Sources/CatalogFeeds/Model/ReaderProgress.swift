import CatalogDocuments
package import Commerce
import CoreTypes
package import DeliveryRecords
import PullboxAPI

/// How far a reader has read, of all products.
package struct ReaderProgress: Sendable {
  package let marks: [ProductIdentifier: ReadingMark]
  /// The products that were begun and not read to their ends, the latest first.
  let shelf: Shelf

  /// `marks` are the latest first.
  package init(_ marks: [ReadingMark]) {
    self.marks = Dictionary(marks.map { ($0.product, $0) }, uniquingKeysWith: { first, _ in first })
    shelf = Shelf(marks.filter { ($0.millionths ?? 0) < ReadingProgress.whole }.map(\.product))
  }
}

import CatalogDocuments
import Commerce
import CoreTypes
import PullboxAPI

/// The publications that issues of the library belong to, as far as the server has told of them. Pure.
struct PublicationShelves: Sendable {
  /// The server's word on an issue.
  struct Listing: Hashable, Sendable {
    var publication: ProductIdentifier
    /// The publication's title; nil where the server has told none.
    var title: String?
    /// When the issue appeared; nil where that is not known.
    var published: Timestamp?
  }

  /// By title.
  let all: [CatalogFeed.Publication.Series]
  private let listings: [ProductIdentifier: Listing]
  /// The issues of each publication, the newest first.
  private let shelves: [ProductIdentifier: Shelf]

  /// `listings` are of the products that are shown.
  init(_ listings: [ProductIdentifier: Listing]) {
    self.listings = listings
    let grouped = Dictionary(grouping: listings, by: \.value.publication)
    shelves = grouped.mapValues { issues in
      Shelf(
        issues.sorted { one, other in
          let (left, right) = (one.value.published, other.value.published)
          guard left != right else { return one.key < other.key }
          // What has no date comes last.
          guard let left, let right else { return left != nil }
          return left > right
        }.map(\.key))
    }
    all = grouped.map { publication, issues in
      let title = issues.lazy.compactMap(\.value.title).first
      return CatalogFeed.Publication.Series(id: publication, title: title ?? publication.description)
    }.sorted { ($0.title, $0.id.description) < ($1.title, $1.id.description) }
  }

  /// Nil for a publication that no issue belongs to.
  func series(_ publication: ProductIdentifier) -> CatalogFeed.Publication.Series? {
    all.first { $0.id == publication }
  }

  /// The publication of an issue; nil for a product that belongs to none, or of which that is not known.
  func series(ofIssue product: ProductIdentifier) -> CatalogFeed.Publication.Series? {
    listings[product].map { listing in
      .init(id: listing.publication, title: listing.title ?? listing.publication.description)
    }
  }

  /// When an issue appeared; nil where that is not known.
  func published(_ product: ProductIdentifier) -> Timestamp? { listings[product]?.published }

  /// The newest issue; nil for a publication without one.
  func newest(of publication: ProductIdentifier) -> ProductIdentifier? {
    shelves[publication]?.names.first
  }

  /// The issues of a publication, the newest first. Throws `publication-unknown`.
  func issues(of publication: ProductIdentifier) throws(Problem) -> Shelf {
    guard let shelf = shelves[publication] else {
      throw Problem(.publicationUnknown, "the library holds no issue of \(publication)")
    }
    return shelf
  }
}

package import Commerce

/// A place of the catalog for readers' applications to which a link leads. Its address depends on the form of the document that the link
/// stands in, which the writers know.
package enum CatalogPlace: Hashable, Sendable {
  /// The first document, which leads to all others.
  case start
  /// The publications.
  case publications
  /// The shelf of one publication.
  case publication(ProductIdentifier)
  /// The issues of all publications, the newest first.
  case new
  /// The products that belong to no publication.
  case singles
  /// The products that the reader owns, the newest purchase first.
  case owned
  /// The products that the reader has begun, the latest first.
  case reading
  /// The products that are found by these words.
  case search(String)
  /// The description of the search (OpenSearch).
  case searchDescription
  /// The search, with a gap for the words.
  case searchTemplate
  /// One product.
  case product(ProductIdentifier)
  /// The page on which a product is bought.
  case shop(ProductIdentifier)
  /// The cover of a version, in that width where one is given.
  case cover(ProductIdentifier, ContentVersion, width: Int?)
  /// The picture that stands for a cover where there is none.
  case noCover
  /// The sample of that number, the first one being 1.
  case sample(ProductIdentifier, ContentVersion, Int)
  /// The package of a version, under a name with the ending of its type.
  case file(ProductIdentifier, ContentVersion, name: String)
  /// How far a product was read.
  case progress(ProductIdentifier)
  /// The web publication manifest of a version.
  case manifest(ProductIdentifier, ContentVersion)
  /// A page of a version, counted from zero, in that width where one is given.
  case page(ProductIdentifier, ContentVersion, Int, width: Int?)
  /// The pages of a version, with gaps for the number and the width.
  case pageTemplate(ProductIdentifier, ContentVersion)
}

extension CatalogPlace {
  /// Whether it is of a kind that OPDS 1.2 does not know.
  package var isOfPublicationsAlone: Bool {
    switch self {
    case .manifest, .progress: true
    default: false
    }
  }
}

/// A part of a shelf: what comes behind the product, or the beginning.
package struct CatalogPage: Hashable, Sendable {
  package var place: CatalogPlace
  /// The last product of the page before; nil for the first page.
  package var after: ProductIdentifier?
  /// Whether only what costs nothing is shown.
  package var onlyFree = false

  package init(_ place: CatalogPlace, after: ProductIdentifier? = nil, onlyFree: Bool = false) {
    self.place = place
    self.after = after
    self.onlyFree = onlyFree
  }
}

import Commerce
import CoreTypes

extension FeedForm {
  /// The media type of a document of that kind; nil where it is not known.
  package func mediaType(of kind: FeedLink.Kind) -> String? {
    switch (self, kind) {
    case (.atom, .navigation): "application/atom+xml;profile=opds-catalog;kind=navigation"
    case (.atom, .acquisition): "application/atom+xml;profile=opds-catalog;kind=acquisition"
    case (.atom, .entry): "application/atom+xml;type=entry;profile=opds-catalog"
    case (.json, .navigation), (.json, .acquisition): "application/opds+json"
    case (.json, .entry): "application/opds-publication+json"
    case (_, .searchDescription): "application/opensearchdescription+xml"
    case (_, .other(let type)): type
    }
  }
}

extension CatalogPlace {
  /// The kind of the document that is there.
  package var kind: FeedLink.Kind {
    switch self {
    case .start, .publications: .navigation
    case .publication, .new, .singles, .owned, .reading, .search, .searchTemplate: .acquisition
    case .product: .entry
    case .searchDescription: .searchDescription
    case .shop: .other("text/html")
    case .noCover: .other(NoCover.mediaType)
    case .cover, .sample, .file, .progress, .manifest, .page, .pageTemplate: .other(nil)
    }
  }

  /// The name that the document has wherever it lies.
  package var identity: String {
    switch self {
    case .start: "urn:pullbox:catalog:start"
    case .publications: "urn:pullbox:catalog:publications"
    case .publication(let id): "urn:pullbox:publication:\(id)"
    case .new: "urn:pullbox:catalog:new"
    case .singles: "urn:pullbox:catalog:singles"
    case .owned: "urn:pullbox:catalog:owned"
    case .reading: "urn:pullbox:catalog:reading"
    case .search(let words): "urn:pullbox:catalog:search:\(words.percentEncoded)"
    case .noCover: "urn:pullbox:catalog:no-cover"
    case .searchDescription, .searchTemplate: "urn:pullbox:catalog:search"
    case .product(let id), .shop(let id), .cover(let id, _, _), .sample(let id, _, _), .file(let id, _, _),
      .progress(let id), .manifest(let id, _), .page(let id, _, _, _), .pageTemplate(let id, _):
      "urn:pullbox:product:\(id)"
    }
  }
}

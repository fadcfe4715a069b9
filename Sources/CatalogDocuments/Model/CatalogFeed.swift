package import Commerce
package import CoreTypes

/// One document of the catalog for readers' applications, before it has a form. ``AtomWriter`` makes a feed of OPDS 1.2 of it and
/// ``PublicationsWriter`` one of OPDS 2.0, so that both say the same.
package struct CatalogFeed: Hashable, Sendable {
  /// The place and the page that the feed shows; the place names it as well.
  package var page: CatalogPage
  package var title: String
  /// In the language of the title; may be empty.
  package var subtitle = ""
  /// When what the feed shows last changed.
  package var updated: Timestamp
  /// Links beside those to the feed itself, to the start and to the search, which every feed has.
  package var links: [FeedLink] = []
  /// Feeds that this one leads to.
  package var navigation: [Navigation] = []
  /// Short lists of publications, each with the feed that has all of them. A feed of OPDS 1.2 has no room for them, and leads there by
  /// ``navigation``.
  package var groups: [Group] = []
  package var facets: [FacetGroup] = []
  package var publications: [Publication] = []
  /// Publications of a page at most; nil for a feed without pages.
  package var itemsPerPage: Int?

  package init(page: CatalogPage, title: String, updated: Timestamp) {
    self.page = page
    self.title = title
    self.updated = updated
  }

  /// An entry that leads to another feed.
  package struct Navigation: Hashable, Sendable {
    package var target: CatalogPage
    package var kind: FeedLink.Kind
    package var relation: FeedLink.Relation
    package var title: String
    /// A sentence about what is found there; may be empty.
    package var summary: String
    /// The picture that stands for it.
    package var images: [Image] = []

    package init(
      _ target: CatalogPage, _ kind: FeedLink.Kind, relation: FeedLink.Relation = .subsection, title: String,
      summary: String, images: [Image] = []
    ) {
      self.target = target
      self.kind = kind
      self.relation = relation
      self.title = title
      self.summary = summary
      self.images = images
    }
  }

  /// A list of a few publications within a feed.
  package struct Group: Hashable, Sendable {
    package var title: String
    /// The feed that has all of it.
    package var target: CatalogPage
    package var publications: [Publication]

    package init(title: String, target: CatalogPage, publications: [Publication]) {
      self.title = title
      self.target = target
      self.publications = publications
    }
  }

  /// Ways to narrow a feed, of which one is chosen.
  package struct FacetGroup: Hashable, Sendable {
    /// One of the ways.
    package struct Facet: Hashable, Sendable {
      package var title: String
      package var target: CatalogPage
      package var isActive: Bool

      package init(title: String, target: CatalogPage, isActive: Bool) {
        self.title = title
        self.target = target
        self.isActive = isActive
      }
    }

    package var title: String
    package var facets: [Facet]

    package init(title: String, facets: [Facet]) {
      self.title = title
      self.facets = facets
    }
  }

  /// A picture of the catalog.
  package struct Image: Hashable, Sendable {
    package var target: CatalogPage
    /// Nil where the ending of its name says nothing.
    package var mediaType: String?
    /// Whether it is for lists.
    package var isThumbnail: Bool

    package init(target: CatalogPage, mediaType: String?, isThumbnail: Bool) {
      self.target = target
      self.mediaType = mediaType
      self.isThumbnail = isThumbnail
    }
  }

  /// A product as an application shows it.
  package struct Publication: Hashable, Sendable {
    /// The kind of what is sold.
    package enum Kind: Hashable, Sendable {
      /// Pages of a comic.
      case comic
      /// Another book, or content of which nothing is known.
      case book
      /// A subscription, which has no content of its own.
      case subscription
    }

    /// The publication that an issue belongs to.
    package struct Series: Hashable, Sendable {
      package var id: ProductIdentifier
      package var title: String

      package init(id: ProductIdentifier, title: String) {
        self.id = id
        self.title = title
      }
    }

    package var id: ProductIdentifier
    package var kind: Kind
    package var title: String
    /// May be empty.
    package var summary: String
    /// When its description or what is released of it last changed.
    package var updated: Timestamp
    /// When an issue appeared.
    package var published: Timestamp?
    package var series: Series?
    package var pageCount: Int?
    package var images: [Image] = []
    /// The ways to have it; those to have its parts or more than it among them.
    package var links: [FeedLink] = []

    package init(
      id: ProductIdentifier, kind: Kind, title: String, summary: String, updated: Timestamp,
      published: Timestamp? = nil
    ) {
      self.id = id
      self.kind = kind
      self.title = title
      self.summary = summary
      self.updated = updated
      self.published = published
    }
  }
}

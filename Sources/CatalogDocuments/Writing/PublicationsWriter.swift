import CoreTypes
import PullboxAPI

/// Writes feeds and publications as OPDS 2.0 has them, in JSON. Pure.
///
///     let bytes = try PublicationsWriter(addresses: addresses).feed(feed)
package struct PublicationsWriter: Sendable {
  package let addresses: FeedAddresses

  package init(addresses: FeedAddresses) {
    self.addresses = addresses
  }

  /// Returns the document of a feed. Throws what the encoder throws.
  package func feed(_ feed: CatalogFeed) throws -> [UInt8] {
    let navigation = feed.navigation.map { entry in
      Document.Link(
        href: addresses.address(of: entry.target), rel: [entry.relation.rawValue],
        type: addresses.form.mediaType(of: entry.kind), title: entry.title)
    }
    let isEmpty = navigation.isEmpty && feed.groups.isEmpty && feed.publications.isEmpty
    let document = Document.Feed(
      metadata: Document.FeedMetadata(
        title: feed.title, subtitle: feed.subtitle.isEmpty ? nil : feed.subtitle,
        identifier: feed.page.place.identity, modified: feed.updated, itemsPerPage: feed.itemsPerPage),
      links: links(of: feed),
      // A feed has at least one list, and none is empty.
      navigation: isEmpty ? [start(title: "Start")] : navigation.isEmpty ? nil : navigation,
      groups: feed.groups.isEmpty ? nil : feed.groups.map(group),
      facets: feed.facets.isEmpty ? nil : feed.facets.map(facets),
      publications: feed.publications.isEmpty ? nil : feed.publications.map { publication($0) })
    return try APIJSON.encode(document)
  }

  /// Returns the document of one publication. Throws what the encoder throws.
  package func entry(_ publication: CatalogFeed.Publication) throws -> [UInt8] {
    try APIJSON.encode(self.publication(publication, isDocument: true))
  }

  private func links(of feed: CatalogFeed) -> [Document.Link] {
    let kind = feed.page.place.kind
    var links = [
      link(FeedLink(.itself, to: feed.page, kind)), start(title: nil),
      Document.Link(
        href: addresses.address(of: CatalogPage(.searchTemplate)), rel: ["search"],
        type: addresses.form.mediaType(of: .acquisition), isTemplated: true),
      Document.Link(
        href: addresses.other.address(of: feed.page), rel: ["alternate"],
        type: FeedForm.atom.mediaType(of: kind)),
    ]
    links += feed.links.map(link)
    return links
  }

  private func start(title: String?) -> Document.Link {
    Document.Link(
      href: addresses.address(of: CatalogPage(.start)), rel: ["start"],
      type: addresses.form.mediaType(of: .navigation), title: title)
  }

  private func link(_ link: FeedLink) -> Document.Link {
    var properties = Document.Properties()
    // A price is written by the catalog, as a decimal number.
    if let price = link.price, let value = Double(price.amount) {
      properties.price = Document.Price(currency: price.currency, value: value)
    }
    properties.indirectAcquisition = link.indirectType.map { [Document.Indirect(type: $0)] }
    properties.availability = link.availability.map {
      Document.Availability(state: "available", since: $0.since, until: $0.until)
    }
    return Document.Link(
      href: addresses.address(of: link.target), rel: [link.relation.rawValue],
      type: addresses.form.mediaType(of: link.kind), title: link.title,
      properties: properties.isEmpty ? nil : properties)
  }

  private func group(_ group: CatalogFeed.Group) -> Document.Group {
    Document.Group(
      metadata: Document.Title(title: group.title),
      links: [link(FeedLink(.itself, to: group.target, group.target.place.kind))],
      publications: group.publications.map { publication($0) })
  }

  private func facets(_ group: CatalogFeed.FacetGroup) -> Document.Facets {
    Document.Facets(
      metadata: Document.Title(title: group.title),
      links: group.facets.map { facet in
        Document.Link(
          href: addresses.address(of: facet.target), rel: facet.isActive ? ["self"] : nil,
          type: addresses.form.mediaType(of: facet.target.place.kind), title: facet.title)
      })
  }

  private func publication(
    _ publication: CatalogFeed.Publication, isDocument: Bool = false
  ) -> Document.Publication {
    let itself = CatalogPage(.product(publication.id))
    var links = [link(FeedLink(.itself, to: itself, .entry))]
    if isDocument {
      links.append(
        Document.Link(
          href: addresses.other.address(of: itself), rel: ["alternate"],
          type: FeedForm.atom.mediaType(of: .entry)))
    }
    // Pages are in the manifest.
    links += publication.links.filter { $0.stream == nil }.map(link)
    var images = publication.images.map { image in
      Document.Link(href: addresses.address(of: image.target), type: image.mediaType)
    }
    // A publication has a picture (OPDS 2.0 §5.1).
    if images.isEmpty {
      images.append(
        Document.Link(href: addresses.address(of: CatalogPage(.noCover)), type: NoCover.mediaType))
    }
    let series = publication.series.map { series in
      Document.Series(
        name: series.title, identifier: CatalogPlace.publication(series.id).identity,
        links: [link(FeedLink(.itself, to: CatalogPage(.publication(series.id)), .acquisition))])
    }
    return Document.Publication(
      metadata: Document.Metadata(
        type: Self.schema(of: publication.kind), title: publication.title,
        identifier: itself.place.identity,
        description: publication.summary.isEmpty ? nil : publication.summary,
        modified: publication.updated, published: publication.published,
        numberOfPages: publication.pageCount, belongsTo: series.map { ["series": [$0]] }),
      links: links, images: images)
  }

  private static func schema(of kind: CatalogFeed.Publication.Kind) -> String {
    switch kind {
    case .comic: "http://schema.org/ComicIssue"
    case .book: "http://schema.org/Book"
    case .subscription: "http://schema.org/Periodical"
    }
  }
}

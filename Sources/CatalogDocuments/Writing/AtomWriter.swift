import Commerce
import CoreTypes

/// Writes feeds and entries as OPDS 1.2 has them, in Atom (RFC 4287). Pure.
///
///     let bytes = AtomWriter(addresses: addresses, name: "Comics").feed(feed)
package struct AtomWriter: Sendable {
  package let addresses: FeedAddresses
  /// The name of the catalog, which is the author of what it says.
  package let name: String

  package init(addresses: FeedAddresses, name: String) {
    self.addresses = addresses
    self.name = name
  }

  /// Returns the document of a feed. Its ``CatalogFeed/groups`` are not in it.
  package func feed(_ feed: CatalogFeed) -> [UInt8] {
    var xml = XMLWriter()
    xml.element("feed", Self.namespaces) { xml in
      xml.element("id", text: feed.page.place.identity)
      xml.element("title", text: feed.title)
      if !feed.subtitle.isEmpty { xml.element("subtitle", text: feed.subtitle) }
      xml.element("updated", text: feed.updated.rfc3339)
      author(&xml)
      let kind = feed.page.place.kind
      link(FeedLink(.itself, to: feed.page, kind), &xml)
      link(FeedLink(.start, to: CatalogPage(.start), .navigation), &xml)
      link(FeedLink(.search, to: CatalogPage(.searchDescription), .searchDescription), &xml)
      xml.element(
        "link",
        [
          "rel": "alternate", "type": FeedForm.json.mediaType(of: kind),
          "href": addresses.other.address(of: feed.page),
        ])
      for each in feed.links { link(each, &xml) }
      for group in feed.facets { facets(group, &xml) }
      if let count = feed.itemsPerPage { xml.element("opensearch:itemsPerPage", text: String(count)) }
      for entry in feed.navigation { navigation(entry, updated: feed.updated, &xml) }
      for publication in feed.publications { entry(publication, &xml, isDocument: false) }
    }
    return xml.bytes
  }

  /// Returns the document of one publication.
  package func entry(_ publication: CatalogFeed.Publication) -> [UInt8] {
    var xml = XMLWriter()
    entry(publication, &xml, isDocument: true)
    return xml.bytes
  }

  private static let namespaces: KeyValuePairs<XMLWriter.Name, String?> = [
    "xmlns": "http://www.w3.org/2005/Atom", "xmlns:dcterms": "http://purl.org/dc/terms/",
    "xmlns:opds": "http://opds-spec.org/2010/catalog",
    "xmlns:opensearch": "http://a9.com/-/spec/opensearch/1.1/",
    // Some applications know the pages by this prefix alone.
    "xmlns:pse": "http://vaemendis.net/opds-pse/ns",
  ]

  private func author(_ xml: inout XMLWriter) {
    xml.element("author") { $0.element("name", text: name) }
  }

  private func link(_ link: FeedLink, _ xml: inout XMLWriter) {
    xml.element(
      "link",
      [
        "rel": link.relation.rawValue, "type": addresses.form.mediaType(of: link.kind),
        "href": addresses.address(of: link.target), "title": link.title,
        "pse:count": link.stream.map { String($0.count) },
        "pse:lastRead": link.stream?.lastRead.map { String($0) },
        "pse:lastReadDate": link.stream?.lastReadDate?.rfc3339,
      ]
    ) { xml in
      if let price = link.price {
        xml.element("opds:price", ["currencycode": price.currency], text: price.amount)
      }
      if let type = link.indirectType { xml.element("opds:indirectAcquisition", ["type": type]) }
      if let availability = link.availability {
        // A period of DCMI: the grammar of OPDS 1.2 has no word for it, and lets those of others in.
        let dates = [("start", availability.since), ("end", availability.until)]
        let period = dates.compactMap { name, date in date.map { "\(name)=\($0.rfc3339); " } }
        xml.element("dcterms:available", text: period.joined() + "scheme=W3C-DTF;")
      }
    }
  }

  private func facets(_ group: CatalogFeed.FacetGroup, _ xml: inout XMLWriter) {
    for facet in group.facets {
      xml.element(
        "link",
        [
          "rel": FeedLink.Relation.facet.rawValue,
          "type": addresses.form.mediaType(of: facet.target.place.kind),
          "href": addresses.address(of: facet.target), "title": facet.title, "opds:facetGroup": group.title,
          "opds:activeFacet": facet.isActive ? "true" : nil,
        ])
    }
  }

  private func navigation(
    _ entry: CatalogFeed.Navigation, updated: Timestamp, _ xml: inout XMLWriter
  ) {
    xml.element("entry") { xml in
      xml.element("title", text: entry.title)
      xml.element("id", text: entry.target.place.identity)
      xml.element("updated", text: updated.rfc3339)
      // An entry has a content, or an alternate that a navigation entry has not (RFC 4287 §4.1.2).
      xml.element("content", ["type": "text"], text: entry.summary.isEmpty ? entry.title : entry.summary)
      link(FeedLink(entry.relation, to: entry.target, entry.kind), &xml)
      for image in entry.images { self.image(image, &xml) }
    }
  }

  private func image(_ image: CatalogFeed.Image, _ xml: inout XMLWriter) {
    xml.element(
      "link",
      [
        "rel": image.isThumbnail ? "http://opds-spec.org/image/thumbnail" : "http://opds-spec.org/image",
        "type": image.mediaType, "href": addresses.address(of: image.target),
      ])
  }

  private func entry(
    _ publication: CatalogFeed.Publication, _ xml: inout XMLWriter, isDocument: Bool
  ) {
    xml.element("entry", isDocument ? Self.namespaces : [:]) { xml in
      xml.element("title", text: publication.title)
      xml.element("id", text: CatalogPlace.product(publication.id).identity)
      xml.element("updated", text: publication.updated.rfc3339)
      if let published = publication.published {
        xml.element("published", text: published.rfc3339)
        xml.element("dcterms:issued", text: String(published.rfc3339.prefix(10)))
      }
      if isDocument { author(&xml) }
      xml.element("dcterms:identifier", text: publication.id.description)
      if let series = publication.series { xml.element("dcterms:isPartOf", text: series.title) }
      if let count = publication.pageCount {
        xml.element("dcterms:extent", text: count == 1 ? "1 page" : "\(count) pages")
      }
      if !publication.summary.isEmpty { xml.element("summary", ["type": "text"], text: publication.summary) }
      for image in publication.images { self.image(image, &xml) }
      link(
        FeedLink(isDocument ? .itself : .alternate, to: CatalogPage(.product(publication.id)), .entry), &xml)
      if isDocument {
        // An entry without a content has an alternate (RFC 4287 §4.1.2).
        xml.element(
          "link",
          [
            "rel": "alternate", "type": FeedForm.json.mediaType(of: .entry),
            "href": addresses.other.address(of: CatalogPage(.product(publication.id))),
          ])
      }
      if let series = publication.series {
        link(
          FeedLink(.up, to: CatalogPage(.publication(series.id)), .acquisition, title: series.title), &xml)
      }
      for each in publication.links where !each.target.place.isOfPublicationsAlone { link(each, &xml) }
    }
  }
}

package import Commerce
import ContentPackage
import CoreTypes
import PullboxAPI

/// Writes the manifest of a publication as Readium's web publications have it: a comic by the profile *Divina* with its pages, anything
/// else with its one file. Pure.
///
///     let bytes = try WebPublicationWriter(addresses: addresses).document(publication, version, pages: pages)
package struct WebPublicationWriter: Sendable {
  package let addresses: FeedAddresses

  package init(addresses: FeedAddresses) {
    self.addresses = addresses
  }

  private typealias Link = PublicationsWriter.Document.Link

  private struct Document: Encodable {
    var context = "https://readium.org/webpub-manifest/context.jsonld"
    var metadata: Metadata
    var links: [Link]
    var readingOrder: [Link]
    var resources: [Link]?
    var toc: [Link]?

    private enum CodingKeys: String, CodingKey {
      case context = "@context"
      case metadata, links, readingOrder, resources, toc
    }
  }

  private struct Metadata: Encodable {
    var type: String
    var conformsTo: String?
    var title: String
    var identifier: String
    var description: String?
    var modified: Timestamp
    var published: Timestamp?
    var numberOfPages: Int?
    var readingProgression: String?
    var belongsTo: [String: [Series]]?

    private enum CodingKeys: String, CodingKey {
      case type = "@type"
      case conformsTo, title, identifier, description, modified, published, numberOfPages
      case readingProgression, belongsTo
    }
  }

  private struct Series: Encodable {
    var name: String
    var identifier: String
  }

  /// Returns the manifest of one version. Throws what the encoder throws.
  ///
  /// - Parameters:
  ///   - publication: has a link by which the reader gets the package.
  ///   - version: the version that is read.
  ///   - pages: those of a comic; nil for anything else.
  package func document(
    _ publication: CatalogFeed.Publication, _ version: ContentVersion, pages: PackagePages?
  ) throws -> [UInt8] {
    let file = publication.links.first { if case .file = $0.target.place { true } else { false } }
    let package = file.map { file in
      Link(href: addresses.address(of: file.target), type: addresses.form.mediaType(of: file.kind))
    }
    let order = pages?.pages.enumerated().map { number, page in link(page, number, publication.id, version) }
    let covers = publication.images.map { image in
      Link(href: addresses.address(of: image.target), rel: ["cover"], type: image.mediaType)
    }
    let toc = pages?.guide?.bookmarks.filter { $0.page < (order?.count ?? 0) }.map { mark in
      Link(href: order?[mark.page].href ?? "", title: mark.title)
    }
    let itself = CatalogPage(.manifest(publication.id, version))
    var links = [
      Link(
        href: addresses.address(of: itself), rel: ["self"],
        type: PackagePages.manifestType(isComic: pages != nil))
    ]
    if order != nil, var package {
      package.rel = ["alternate"]
      links.append(package)
    }
    links += publication.links.filter { $0.relation == .progression }.map { link in
      Link(
        href: addresses.address(of: link.target), rel: [link.relation.rawValue],
        type: addresses.form.mediaType(of: link.kind))
    }
    return try APIJSON.encode(
      Document(
        metadata: metadata(of: publication, pages, isPDF: package?.type == MediaType.pdf.text), links: links,
        readingOrder: order ?? package.map { [$0] } ?? [], resources: covers.isEmpty ? nil : covers,
        toc: toc.flatMap { $0.isEmpty ? nil : $0 }))
  }

  private func metadata(
    of publication: CatalogFeed.Publication, _ pages: PackagePages?, isPDF: Bool
  ) -> Metadata {
    let profiles = "https://readium.org/webpub-manifest/profiles"
    return Metadata(
      type: pages == nil ? "http://schema.org/Book" : "http://schema.org/ComicIssue",
      conformsTo: pages != nil ? "\(profiles)/divina" : isPDF ? "\(profiles)/pdf" : nil,
      title: publication.title, identifier: CatalogPlace.product(publication.id).identity,
      description: publication.summary.isEmpty ? nil : publication.summary,
      modified: publication.updated, published: publication.published,
      numberOfPages: pages?.pages.count ?? publication.pageCount,
      readingProgression: pages?.guide?.isRightToLeft.map { $0 ? "rtl" : "ltr" },
      belongsTo: publication.series.map { series in
        [
          "series": [
            Series(name: series.title, identifier: CatalogPlace.publication(series.id).identity)
          ]
        ]
      })
  }

  private func link(
    _ page: PackagePages.Page, _ number: Int, _ id: ProductIdentifier, _ version: ContentVersion
  ) -> Link {
    func address(_ width: Int?) -> String {
      addresses.address(of: CatalogPage(.page(id, version, number, width: width)))
    }
    let alternates = page.narrower.map { size in
      Link(
        href: address(size.width), type: size.picture.mediaType, size: size.picture.length.rawValue,
        width: size.width)
    }
    return Link(
      href: address(nil), type: page.picture.mediaType ?? MediaType.bytes.text,
      size: page.picture.length.rawValue, alternate: alternates.isEmpty ? nil : alternates)
  }
}

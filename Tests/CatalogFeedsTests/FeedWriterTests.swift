import Commerce
import CoreTypes
import Foundation
import FoundationXML
import PullboxAPI
import Testing

@testable import CatalogDocuments
@testable import CatalogFeeds

/// RFC 4287; OPDS 1.2 §§2–5; OPDS 2.0 §§1–5. The expected documents are written by those, not by what the writers make.
@Suite("The two forms of a feed")
struct FeedWriterTests {
  private let issue: ProductIdentifier
  private let series: ProductIdentifier
  private let version: ContentVersion

  init() throws {
    issue = try SampleShop.name("issue1")
    series = try SampleShop.name("series")
    version = try #require(ContentVersion("1.0"))
  }

  private func publication(title: String = "One & only") -> CatalogFeed.Publication {
    var publication = CatalogFeed.Publication(
      id: issue, kind: .comic, title: title, summary: "First", updated: SampleShop.start,
      published: SampleShop.now)
    publication.series = CatalogFeed.Publication.Series(id: series, title: "The Series")
    publication.pageCount = 32
    publication.images = [
      CatalogFeed.Image(
        target: CatalogPage(.cover(issue, version, width: nil)), mediaType: "image/jpeg", isThumbnail: false),
      CatalogFeed.Image(
        target: CatalogPage(.cover(issue, version, width: 240)), mediaType: "image/jpeg", isThumbnail: true),
    ]
    publication.links = [
      FeedLink(
        .buy, to: CatalogPage(.shop(issue)), .other("text/html"),
        price: FeedLink.Price(amount: "2.99", currency: "EUR"),
        indirectType: "application/vnd.comicbook+zip",
        availability: FeedLink.Availability(since: SampleShop.start)),
      FeedLink(.sample, to: CatalogPage(.sample(issue, version, 1)), .other("image/png")),
    ]
    return publication
  }

  private func feed(title: String = "New issues") -> CatalogFeed {
    var feed = CatalogFeed(page: CatalogPage(.new), title: title, updated: SampleShop.start)
    feed.links = [FeedLink(.next, to: CatalogPage(.new, after: issue), .acquisition)]
    feed.facets = [
      CatalogFeed.FacetGroup(
        title: "Price",
        facets: [
          .init(title: "All", target: CatalogPage(.new), isActive: true),
          .init(title: "Free", target: CatalogPage(.new, onlyFree: true), isActive: false),
        ])
    ]
    feed.itemsPerPage = 50
    feed.publications = [publication()]
    return feed
  }

  private func atom(_ feed: CatalogFeed, base: String = "") -> String {
    String(
      decoding: AtomWriter(addresses: FeedAddresses(base: base, form: .atom), name: "Comics").feed(feed),
      as: UTF8.self)
  }

  private func json(_ feed: CatalogFeed) throws -> [UInt8] {
    try PublicationsWriter(addresses: FeedAddresses(form: .json)).feed(feed)
  }

  @Test("a feed of OPDS 1.2")
  func atomFeed() {
    let expected = """
      <?xml version="1.0" encoding="UTF-8"?>
      <feed xmlns="http://www.w3.org/2005/Atom" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:opds="http://opds-spec.org/2010/catalog" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:pse="http://vaemendis.net/opds-pse/ns">\
      <id>urn:pullbox:catalog:new</id><title>New issues</title><updated>1970-01-01T00:00:00.000Z</updated>\
      <author><name>Comics</name></author>\
      <link rel="self" type="application/atom+xml;profile=opds-catalog;kind=acquisition" href="https://c.example/opds/v1.2/new"/>\
      <link rel="start" type="application/atom+xml;profile=opds-catalog;kind=navigation" href="https://c.example/opds/v1.2"/>\
      <link rel="search" type="application/opensearchdescription+xml" href="https://c.example/opds/v1.2/search.xml"/>\
      <link rel="alternate" type="application/opds+json" href="https://c.example/opds/v2/new"/>\
      <link rel="next" type="application/atom+xml;profile=opds-catalog;kind=acquisition" href="https://c.example/opds/v1.2/new?after=com.example.issue1"/>\
      <link rel="http://opds-spec.org/facet" type="application/atom+xml;profile=opds-catalog;kind=acquisition" href="https://c.example/opds/v1.2/new" title="All" opds:facetGroup="Price" opds:activeFacet="true"/>\
      <link rel="http://opds-spec.org/facet" type="application/atom+xml;profile=opds-catalog;kind=acquisition" href="https://c.example/opds/v1.2/new?price=free" title="Free" opds:facetGroup="Price"/>\
      <opensearch:itemsPerPage>50</opensearch:itemsPerPage>\
      <entry><title>One &amp; only</title><id>urn:pullbox:product:com.example.issue1</id>\
      <updated>1970-01-01T00:00:00.000Z</updated><published>2026-11-21T10:30:00.000Z</published>\
      <dcterms:issued>2026-11-21</dcterms:issued><dcterms:identifier>com.example.issue1</dcterms:identifier>\
      <dcterms:isPartOf>The Series</dcterms:isPartOf><dcterms:extent>32 pages</dcterms:extent>\
      <summary type="text">First</summary>\
      <link rel="http://opds-spec.org/image" type="image/jpeg" href="https://c.example/opds/covers/com.example.issue1/1.0"/>\
      <link rel="http://opds-spec.org/image/thumbnail" type="image/jpeg" href="https://c.example/opds/covers/com.example.issue1/1.0?width=240"/>\
      <link rel="alternate" type="application/atom+xml;type=entry;profile=opds-catalog" href="https://c.example/opds/v1.2/products/com.example.issue1"/>\
      <link rel="up" type="application/atom+xml;profile=opds-catalog;kind=acquisition" href="https://c.example/opds/v1.2/publications/com.example.series" title="The Series"/>\
      <link rel="http://opds-spec.org/acquisition/buy" type="text/html" href="https://c.example/shop/com.example.issue1">\
      <opds:price currencycode="EUR">2.99</opds:price><opds:indirectAcquisition type="application/vnd.comicbook+zip"/>\
      <dcterms:available>start=1970-01-01T00:00:00.000Z; scheme=W3C-DTF;</dcterms:available></link>\
      <link rel="http://opds-spec.org/acquisition/sample" type="image/png" href="https://c.example/opds/samples/com.example.issue1/1.0/1"/>\
      </entry></feed>
      """
    #expect(atom(feed(), base: "https://c.example") == expected)
  }

  @Test("a feed of OPDS 2.0 says the same")
  func jsonFeed() throws {
    let expected = """
      {"facets":[{"links":[
        {"href":"/opds/v2/new","rel":["self"],"title":"All","type":"application/opds+json"},
        {"href":"/opds/v2/new?price=free","title":"Free","type":"application/opds+json"}],
        "metadata":{"title":"Price"}}],
      "links":[
        {"href":"/opds/v2/new","rel":["self"],"type":"application/opds+json"},
        {"href":"/opds/v2","rel":["start"],"type":"application/opds+json"},
        {"href":"/opds/v2/search{?q}","rel":["search"],"templated":true,"type":"application/opds+json"},
        {"href":"/opds/v1.2/new","rel":["alternate"],"type":"application/atom+xml;profile=opds-catalog;kind=acquisition"},
        {"href":"/opds/v2/new?after=com.example.issue1","rel":["next"],"type":"application/opds+json"}],
      "metadata":{"identifier":"urn:pullbox:catalog:new","itemsPerPage":50,"modified":"1970-01-01T00:00:00.000Z","title":"New issues"},
      "publications":[{
        "images":[
          {"href":"/opds/covers/com.example.issue1/1.0","type":"image/jpeg"},
          {"href":"/opds/covers/com.example.issue1/1.0?width=240","type":"image/jpeg"}],
        "links":[
          {"href":"/opds/v2/products/com.example.issue1","rel":["self"],"type":"application/opds-publication+json"},
          {"href":"/shop/com.example.issue1","properties":{
            "availability":{"since":"1970-01-01T00:00:00.000Z","state":"available"},
            "indirectAcquisition":[{"type":"application/vnd.comicbook+zip"}],
            "price":{"currency":"EUR","value":2.99}},
            "rel":["http://opds-spec.org/acquisition/buy"],"type":"text/html"},
          {"href":"/opds/samples/com.example.issue1/1.0/1","rel":["http://opds-spec.org/acquisition/sample"],"type":"image/png"}],
        "metadata":{"@type":"http://schema.org/ComicIssue",
          "belongsTo":{"series":[{"identifier":"urn:pullbox:publication:com.example.series",
            "links":[{"href":"/opds/v2/publications/com.example.series","rel":["self"],"type":"application/opds+json"}],
            "name":"The Series"}]},
          "description":"First","identifier":"urn:pullbox:product:com.example.issue1",
          "modified":"1970-01-01T00:00:00.000Z","numberOfPages":32,"published":"2026-11-21T10:30:00.000Z","title":"One & only"}}]}
      """
    let (made, wanted) = (try value(json(feed())), try value(Array(expected.utf8)))
    #expect(made == wanted)
  }

  private func value(_ bytes: [UInt8]) throws -> NSObject {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSObject)
  }

  /// OPDS 2.0 §1.1: a feed has a list, and a list has a member.
  @Test("a feed of nothing leads to the start")
  func empty() throws {
    let feed = CatalogFeed(page: CatalogPage(.search("x")), title: "Search: x", updated: SampleShop.start)
    let text = String(decoding: try json(feed), as: UTF8.self)
    #expect(text.contains("\"navigation\":[{\"href\":\"/opds/v2\",\"rel\":[\"start\"],\"title\":\"Start\""))
    #expect(!text.contains("\"publications\""))
    #expect(atom(feed).hasSuffix("</feed>"))
  }

  /// RFC 4287 §4.1.2: an entry has a content or an alternate, and an author of its own or its feed's.
  @Test("an entry that stands alone has an author, and a form beside it")
  func entry() throws {
    let document = String(
      decoding: AtomWriter(addresses: FeedAddresses(form: .atom), name: "Comics").entry(publication()),
      as: UTF8.self)
    #expect(document.contains("<author><name>Comics</name></author>"))
    #expect(
      document.contains(
        "<link rel=\"alternate\" type=\"application/opds-publication+json\" href=\"/opds/v2/products/com.example.issue1\"/>"
      ))
    #expect(
      document.contains(
        "<link rel=\"self\" type=\"application/atom+xml;type=entry;profile=opds-catalog\" href=\"/opds/v1.2/products/com.example.issue1\"/>"
      ))
  }

  @Test("the search is described as OpenSearch 1.1 has it")
  func search() {
    let document = String(
      decoding: SearchDescriptionWriter(
        addresses: FeedAddresses(form: .atom), name: "A name of more than sixteen"
      ).document(), as: UTF8.self)
    #expect(document.contains("<ShortName>A name of more t</ShortName>"))
    #expect(
      document.contains(
        "<Url type=\"application/atom+xml;profile=opds-catalog;kind=acquisition\" template=\"/opds/v1.2/search?q={searchTerms}\"/>"
      ))
    #expect(
      document.contains("<Url type=\"application/opds+json\" template=\"/opds/v2/search?q={searchTerms}\"/>"))
  }

  @Test(
    "a title comes back as it was, whatever it holds",
    arguments: [
      "]]><script>alert(1)</script>", "<!--", "&amp;&#0;", "\u{202E}txet", "\u{0}\u{1}", "''\"\"",
      String(repeating: "長い🎈", count: 10_000), "a\r\nb\tc", "\\u0000\"}",
    ])
  func hostile(title: String) throws {
    var feed = feed(title: title)
    feed.publications = [publication(title: title)]
    feed.navigation = [
      CatalogFeed.Navigation(CatalogPage(.start), .navigation, title: title, summary: title)
    ]
    let allowed = String(
      String.UnicodeScalarView(
        title.unicodeScalars.filter { $0.value >= 0x20 || "\t\n\r".unicodeScalars.contains($0) }))
    let titles = TitleReader()
    let parser = XMLParser(data: Data(atom(feed).utf8))
    parser.delegate = titles
    #expect(parser.parse(), "\(String(describing: parser.parserError))")
    #expect(titles.titles == [allowed, allowed, allowed])
    let document = try #require(
      try JSONSerialization.jsonObject(with: Data(try json(feed))) as? [String: Any])
    let metadata = try #require(document["metadata"] as? [String: Any])
    #expect((metadata["title"] as? String)?.unicodeScalars.elementsEqual(title.unicodeScalars) == true)
  }

  /// OPDS 2.0 §5.1; webpub_manifest_parser refuses a publication without a picture.
  @Test("a publication without a cover has a picture that says so, which is one")
  func withoutCover() throws {
    var feed = feed()
    feed.publications[0].images = []
    let text = String(decoding: try json(feed), as: UTF8.self)
    #expect(text.contains("\"images\":[{\"href\":\"/opds/cover.png\",\"type\":\"image/png\"}]"))
    #expect(NoCover.content.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
    #expect(!atom(feed).contains("opds-spec.org/image"))
  }

  /// Moon+ reads no feed that has the attribute.
  @Test("no element says its language")
  func language() {
    #expect(!atom(feed()).contains("xml:lang"))
  }
}

/// Collects the titles of a feed and of its entries.
private final class TitleReader: NSObject, XMLParserDelegate {
  var titles: [String] = []
  private var text: String?

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    if name == "title" { text = "" }
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) { text? += string }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?)
  {
    guard name == "title", let text else { return }
    titles.append(text)
    self.text = nil
  }
}

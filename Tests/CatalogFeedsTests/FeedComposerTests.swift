import Commerce
import CoreTypes
import Foundation
import PullboxAPI
import ServiceAPI
import Testing

@testable import CatalogDocuments
@testable import CatalogFeeds

@Suite("Feeds of the shop")
struct FeedComposerTests {
  @Test("what costs something leads to the page of the shop, with the price of the reader's territory alone")
  func buying() throws {
    var shop = SampleShop()
    try shop.add("issue1", of: "series", on: "2026-11-01", prices: ["FRA": "2.99", "CHE": "3.50"])
    let french = try #require(try shop.publication("issue1", in: "FRA", facts: .comic).link(.buy))
    #expect(french.price == FeedLink.Price(amount: "2.99", currency: "EUR"))
    #expect(french.target == CatalogPage(.shop(try SampleShop.name("issue1"))))
    #expect(french.kind == .other("text/html"))
    #expect(french.indirectType == "application/vnd.comicbook+zip")
    // Without a territory no price is anyone's.
    #expect(try shop.publication("issue1").link(.buy)?.price == nil)
    #expect(try shop.publication("issue1").link(.openAccess) == nil)
    #expect(throws: Problem.self) { try shop.publication("issue1", in: "DEU") }
  }

  @Test("what is free is open to all, under a name of its type")
  func openAccess() throws {
    var shop = SampleShop()
    try shop.add("free", title: "Free")
    try shop.add("zero", prices: ["FRA": "0.00", "CHE": "1.00"])
    let link = try #require(try shop.publication("free", facts: .comic).link(.openAccess))
    #expect(link.kind == .other("application/vnd.comicbook+zip"))
    #expect(
      link.target.place
        == .file(
          try SampleShop.name("free"), try #require(ContentVersion("1.0")), name: "com.example.free.cbz"))
    #expect(try shop.publication("free", facts: .comic).link(.buy) == nil)
    // A request names its territory itself.
    for territory in ["FRA", "CHE", nil] {
      #expect(try shop.publication("zero", in: territory).link(.openAccess) == nil)
    }
    try shop.add("nothing", prices: ["FRA": "0.00", "CHE": "0.00"])
    #expect(try shop.publication("nothing", in: "FRA").link(.openAccess) != nil)
  }

  /// docs/entitlements.md: without another policy a new subscription opens the latest issue.
  @Test("an issue says that a subscription brings it where one that begins now would open it")
  func subscribing() throws {
    var shop = SampleShop()
    try shop.add("old", of: "series", on: "2026-10-01", prices: ["FRA": "2.99"])
    try shop.add("new", of: "series", on: "2026-11-01", prices: ["FRA": "2.99"])
    try shop.add("gift", of: "series", on: "2026-11-01")
    try shop.subscribe("monthly", to: "series", prices: ["FRA": "1.99"])
    let link = try #require(try shop.publication("new", in: "FRA").link(.subscribe))
    #expect(link.target == CatalogPage(.shop(try SampleShop.name("monthly"))))
    #expect(link.price == FeedLink.Price(amount: "1.99", currency: "EUR"))
    #expect(link.title == "A year of it")
    #expect(try shop.publication("old", in: "FRA").link(.subscribe) == nil)
    #expect(try shop.publication("gift", in: "FRA").link(.subscribe) == nil)
    let series = try SampleShop.name("series")
    shop.publications = [
      OperatorPublication(
        id: series, localizations: [:], cover: nil, order: nil,
        policy: SubscriptionPolicy(backIssues: 1), created: SampleShop.start, changed: SampleShop.start)
    ]
    #expect(try shop.publication("old", in: "FRA").link(.subscribe) != nil)
  }

  @Test("a subscription is an entry of its own, before the issues of its publication")
  func subscriptions() throws {
    var shop = SampleShop()
    try shop.add("issue1", of: "series", on: "2026-10-01")
    try shop.add("issue2", of: "series", on: "2026-11-01")
    try shop.subscribe("monthly", to: "series", prices: ["FRA": "1.99"])
    let composer = try shop.composer(in: "FRA")
    let selection = try composer.selection(of: CatalogPage(.publication(SampleShop.name("series"))))
    let publications = composer.feed(selection, facts: [:]).publications
    #expect(
      publications.map(\.id) == [
        try SampleShop.name("monthly"), try SampleShop.name("issue2"), try SampleShop.name("issue1"),
      ])
    #expect(publications[0].kind == .subscription)
    #expect(publications[0].links.map(\.relation) == [.subscribe])
  }

  @Test("samples, covers, dates of sale and the series are told")
  func details() throws {
    let (from, until) = (SampleShop.now - .seconds(60), SampleShop.now + .seconds(60))
    var shop = SampleShop()
    try shop.add(
      "issue1", title: "One", description: "First", of: "series", on: "2026-11-01", prices: ["FRA": "1.00"],
      samples: ["a/1.jpg", "b.pdf", "c"], from: from, until: until)
    let publication = try shop.publication("issue1", in: "FRA", facts: .comic)
    #expect(publication.title == "One")
    #expect(publication.summary == "First")
    #expect(publication.pageCount == 32)
    #expect(publication.kind == .comic)
    #expect(publication.series?.id == (try SampleShop.name("series")))
    #expect(publication.link(.buy)?.availability == FeedLink.Availability(since: from, until: until))
    #expect(
      publication.links.filter { $0.relation == .sample }.map(\.kind) == [
        .other("image/jpeg"), .other("application/pdf"), .other(nil),
      ])
    #expect(publication.images.map(\.isThumbnail) == [false, true])
    #expect(publication.images.allSatisfy { $0.mediaType == "image/jpeg" })
  }

  @Test("a page has fifty entries, and leads on and back")
  func pages() throws {
    var shop = SampleShop()
    for index in 0..<120 { try shop.add(String(format: "single%03d", index)) }
    let composer = try shop.composer()
    var page = CatalogPage(.singles)
    var seen: [ProductIdentifier] = []
    var pages: [CatalogPage] = []
    while true {
      pages.append(page)
      let feed = composer.feed(try composer.selection(of: page), facts: [:])
      seen += feed.publications.map(\.id)
      #expect(feed.publications.count == min(50, 120 - 50 * (pages.count - 1)))
      #expect(feed.itemsPerPage == 50)
      #expect(feed.links.first { $0.relation == .first }?.target == CatalogPage(.singles))
      #expect(feed.links.first { $0.relation == .previous }?.target == pages.dropLast().last)
      guard let next = feed.links.first(where: { $0.relation == .next }) else { break }
      page = next.target
    }
    #expect(pages.count == 3)
    #expect(seen == shop.products.map(\.id).sorted())
  }

  @Test("of 5,000 issues every page is found, and the newest is first")
  func manyIssues() throws {
    var shop = SampleShop()
    for index in 0..<5000 {
      try shop.add("issue\(index)", of: "series")
      shop.products[index].publicationDate = SampleShop.start + .seconds(86_400 * index)
    }
    let composer = try shop.composer()
    var page = CatalogPage(.publication(try SampleShop.name("series")))
    var seen: [ProductIdentifier] = []
    while true {
      let feed = composer.feed(try composer.selection(of: page), facts: [:])
      seen += feed.publications.map(\.id)
      guard let next = feed.links.first(where: { $0.relation == .next }) else { break }
      page = next.target
    }
    #expect(seen == shop.products.map(\.id).reversed())
  }

  @Test("the free alone are a facet")
  func facets() throws {
    var shop = SampleShop()
    try shop.add("free")
    try shop.add("dear", prices: ["FRA": "1.00"])
    let composer = try shop.composer(in: "FRA")
    let all = composer.feed(try composer.selection(of: CatalogPage(.singles)), facts: [:])
    #expect(all.publications.count == 2)
    #expect(all.facets.map { $0.facets.map(\.isActive) } == [[true, false]])
    let free = composer.feed(
      try composer.selection(of: try #require(all.facets.first?.facets.last).target), facts: [:])
    #expect(free.publications.map(\.id) == [try SampleShop.name("free")])
    #expect(free.facets.map { $0.facets.map(\.isActive) } == [[false, true]])
  }

  @Test("the start leads everywhere, and shows what is new")
  func start() throws {
    var shop = SampleShop()
    try shop.add("issue1", of: "series", on: "2026-10-01")
    try shop.add("single")
    let composer = try shop.composer()
    let feed = composer.feed(try composer.selection(of: CatalogPage(.start)), facts: [:])
    #expect(feed.title == "Example Comics")
    #expect(feed.navigation.map(\.target.place) == [.new, .publications, .singles])
    #expect(feed.groups.map { $0.publications.map(\.id) } == [[try SampleShop.name("issue1")]])
    #expect(feed.publications.isEmpty)
  }

  /// Panels shows the cover of a publication where its entry has one.
  @Test("a publication's entry has a cover, without which Panels shows a bare shelf")
  func coverOfPublication() throws {
    var shop = SampleShop()
    try shop.add("issue1", of: "series", on: "2026-10-01")
    let composer = try shop.composer()
    let feed = composer.feed(try composer.selection(of: CatalogPage(.publications)), facts: [:])
    #expect(feed.navigation.map(\.images.count) == [2])
    #expect(feed.page.place.kind == .navigation)
  }

  @Test("what is not for sale here is not there")
  func absent() throws {
    var shop = SampleShop()
    try shop.add("later", of: "series", on: "2026-10-01", from: SampleShop.now + .seconds(1))
    let composer = try shop.composer()
    #expect(throws: Problem.self) { try composer.selection(of: SampleShop.name("later")) }
    #expect(throws: Problem.self) { try composer.selection(of: SampleShop.name("nothing")) }
    #expect(throws: Problem.self) {
      try composer.selection(of: CatalogPage(.publication(SampleShop.name("series"))))
    }
    #expect(composer.feed(try composer.selection(of: CatalogPage(.new)), facts: [:]).publications.isEmpty)
    #expect(throws: Problem.self) {
      try composer.selection(of: CatalogPage(.singles, after: SampleShop.name("later")))
    }
  }
}

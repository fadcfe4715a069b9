import Commerce
import Testing

@testable import CatalogDocuments
@testable import CatalogFeeds

@Suite("Addresses of the catalog for readers' applications")
struct FeedAddressesTests {
  private func address(
    _ place: CatalogPlace, base: String = "", form: FeedForm = .json, choice: FeedChoice = FeedChoice(),
    after: String? = nil, onlyFree: Bool = false
  ) throws -> String {
    FeedAddresses(base: base, form: form, choice: choice).address(
      of: CatalogPage(place, after: try after.map { try SampleShop.name($0) }, onlyFree: onlyFree))
  }

  @Test("every place has its address in both forms")
  func places() throws {
    let issue = try SampleShop.name("issue1")
    let version = try #require(ContentVersion("1.0"))
    #expect(try address(.start) == "/opds/v2")
    #expect(try address(.start, form: .atom) == "/opds/v1.2")
    #expect(try address(.publication(issue)) == "/opds/v2/publications/com.example.issue1")
    #expect(try address(.product(issue), form: .atom) == "/opds/v1.2/products/com.example.issue1")
    #expect(try address(.searchDescription) == "/opds/v1.2/search.xml")
    #expect(try address(.shop(issue)) == "/shop/com.example.issue1")
    #expect(try address(.cover(issue, version, width: nil)) == "/opds/covers/com.example.issue1/1.0")
    #expect(
      try address(.cover(issue, version, width: 240)) == "/opds/covers/com.example.issue1/1.0?width=240")
    #expect(try address(.sample(issue, version, 2)) == "/opds/samples/com.example.issue1/1.0/2")
    #expect(
      try address(.file(issue, version, name: "a b.cbz")) == "/opds/files/com.example.issue1/1.0/a%20b.cbz")
  }

  @Test("a server behind a proxy with a path has it in all addresses")
  func behindPath() throws {
    let base = "https://comics.example/books"
    #expect(try address(.new, base: base) == "https://comics.example/books/opds/v2/new")
    #expect(
      try address(.shop(SampleShop.name("a")), base: base)
        == "https://comics.example/books/shop/com.example.a")
  }

  @Test("what the reader has chosen goes on, with the page")
  func choice() throws {
    let choice = FeedChoice(territory: "FRA", locale: "fr_FR", application: "com.example.reader")
    #expect(
      try address(.new, choice: choice, after: "issue1", onlyFree: true)
        == "/opds/v2/new?application=com.example.reader&locale=fr_FR&territory=FRA&price=free&after=com.example.issue1"
    )
  }

  /// RFC 6570 §3.2.8 and §3.2.9; OpenSearch 1.1, "OpenSearch URL template syntax".
  @Test("the search is a template, before and behind other parameters")
  func templates() throws {
    let choice = FeedChoice(territory: "FRA")
    #expect(try address(.searchTemplate) == "/opds/v2/search{?q}")
    #expect(try address(.searchTemplate, choice: choice) == "/opds/v2/search?territory=FRA{&q}")
    let atom = FeedAddresses(form: .atom)
    #expect(atom.openSearchTemplate == "/opds/v1.2/search?q={searchTerms}")
    #expect(
      FeedAddresses(form: .atom, choice: choice).openSearchTemplate
        == "/opds/v1.2/search?territory=FRA&q={searchTerms}")
  }

  @Test("words of a search are one value, whatever they hold")
  func words() throws {
    #expect(try address(.search("a+b &c=é")) == "/opds/v2/search?q=a%2Bb%20%26c%3D%C3%A9")
  }

  @Test("a publisher's own address is a template with the product")
  func shopAddress() throws {
    let product = try SampleShop.name("issue1")
    let shop = try #require(ShopAddress("https://shop.example/{product}?c={territory}&l={locale}"))
    #expect(
      shop.address(of: product, territory: "FRA", locale: "fr-FR")
        == "https://shop.example/com.example.issue1?c=FRA&l=fr-FR")
    #expect(
      shop.address(of: product, territory: nil, locale: nil)
        == "https://shop.example/com.example.issue1?c=&l=")
  }

  @Test(
    "an address without the product, with another variable or of another scheme is refused",
    arguments: [
      "", "https://shop.example/", "https://shop.example/{id}", "https://shop.example/{product",
      "https://shop.example/product}{product}x}", "javascript:alert({product})",
      "ftp://shop.example/{product}",
      "https://shop.example/{product} x", "https://shop.example/{product}\"x",
      "https://shop.example/{product}{}",
    ])
  func refusedShopAddress(template: String) {
    #expect(ShopAddress(template) == nil)
  }
}

import Commerce
import PullboxAPI
import Testing

@testable import CatalogDocuments
@testable import CatalogFeeds

@Suite("The page of the shop")
struct ShopPageTests {
  private func page(
    _ name: String, of shop: SampleShop, in territory: String? = "FRA", address: String? = nil
  ) throws -> String {
    let page = try shop.composer(in: territory).shopPage(
      of: SampleShop.name(name), shop: try address.map { try #require(ShopAddress($0)) },
      choice: FeedChoice(locale: "fr-FR"))
    return String(decoding: ShopPageWriter(base: "https://c.example").document(page), as: UTF8.self)
  }

  @Test(
    "it says what the product is, what it costs and what a subscription costs, and leads to the ways to buy")
  func content() throws {
    var shop = SampleShop()
    try shop.add("issue1", title: "One", description: "First", of: "series", prices: ["FRA": "2.99"])
    try shop.subscribe("monthly", to: "series", prices: ["FRA": "1.99"])
    let page = try page("issue1", of: shop, address: "https://shop.example/{product}/{territory}/{locale}")
    #expect(page.contains("<h1 dir=\"auto\">One</h1>"))
    #expect(page.contains("<img src=\"https://c.example/v1/products/com.example.issue1/cover?version=1.0\""))
    #expect(page.contains("2,99"))
    #expect(page.contains("for one month. It renews by itself until you end it."))
    #expect(page.contains("It renews."))
    #expect(
      page.contains("<a href=\"https://shop.example/com.example.issue1/FRA/fr-FR\" rel=\"noreferrer\">"))
    #expect(page.contains("<a href=\"pullbox:buy?product=com.example.issue1\">"))
    #expect(page.contains("<a href=\"pullbox:buy?product=com.example.monthly\">"))
  }

  @Test("without a territory no price is shown, and without an address of the publisher's the agent's alone")
  func unknown() throws {
    var shop = SampleShop()
    try shop.add("issue1", prices: ["FRA": "2.99"])
    let page = try page("issue1", of: shop, in: nil)
    #expect(!page.contains("2,99"))
    #expect(page.contains("The price depends on where you live."))
    #expect(!page.contains("Buy from the publisher"))
  }

  @Test("nothing in a text becomes markup, and no script is there")
  func hostile() throws {
    var shop = SampleShop()
    let text = "</h1><script>alert(1)</script>\" onload=\"x"
    try shop.add("issue1", title: text, description: text, prices: ["FRA": "2.99"])
    let page = try page("issue1", of: shop)
    #expect(!page.contains("<script"))
    #expect(page.contains("alert(1)&lt;/script&gt;&quot; onload=&quot;x\">"))
    #expect(page.contains("&lt;script&gt;"))
    #expect(ShopPageWriter.contentSecurityPolicy.hasPrefix("default-src 'none'; "))
    #expect(!ShopPageWriter.contentSecurityPolicy.contains("script-src"))
    #expect(!ShopPageWriter.contentSecurityPolicy.contains("unsafe"))
  }

  @Test("what is not for sale has no page")
  func absent() throws {
    #expect(throws: Problem.self) { try page("nothing", of: SampleShop()) }
  }
}

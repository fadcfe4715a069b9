import Commerce
import CoreTypes
import Crypto
import Foundation
import PullboxAPI
import ServiceRuntime
import Testing

@testable import ContentCatalog
@testable import ContentDelivery
@testable import DeliveryService

/// Expected texts are those of CLDR (ICU's data of Foundation for Linux); digits and signs are escaped where a terminal would
/// turn them around.
@Suite("Products in a client's language")
struct ProductLocalizerTests {
  private func configuration(_ entries: [String]) throws -> DeliveryConfiguration {
    let arguments =
      ["--store-credential", "the-credential-of-a-store-0123456789"]
      + entries.flatMap { ["--price-locale", $0] }
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    guard case .run(let parsed) = try parser.parse(arguments) else { throw UsageError("help") }
    return try ConfigurationReport<DeliveryConfiguration>(parsed).usable()
  }

  private func localesOfPrices(_ entries: [String]) throws -> [Territory: String] {
    try configuration(entries).localesOfPrices()
  }

  @Test("priced documents are new since the start, and since a reload that has prices written by other rules")
  func pricesSince() throws {
    let keys = try #require(
      TicketKeys([TicketKeys.Key(identifier: 1, secret: MessageAuthenticationKey(secret: [1]))]))
    let moments = (1...3).map { Timestamp(millisecondsSinceEpoch: $0 * 1000) }
    let started = try configuration(["CHE=fr-CH"]).deliverySettings(keys: keys, at: moments[0])
    #expect(started.pricesSince == moments[0])
    let same = try configuration(["CHE=fr-CH"]).deliverySettings(keys: keys, at: moments[1], before: started)
    #expect(same.pricesSince == moments[0])
    let other = try configuration([]).deliverySettings(keys: keys, at: moments[2], before: same)
    #expect(other.pricesSince == moments[2])
  }

  @Test("a price is written by the rules that the operator sets for its territory, and others by their own")
  func priceLocales() throws {
    let prices = try ["CHE": #require(Price(amount: "1234.50", currency: "CHF"))]
    let product = Product(
      id: try #require(ProductIdentifier("com.example.a")), type: .nonConsumable, prices: prices)
    func price(_ entries: [String]) throws -> ProductListing.ListedPrice? {
      let localizer = ProductLocalizer(
        locale: "en-US", territory: Territory("CHE"), priceLocales: try localesOfPrices(entries))
      return localizer.listing(of: product, released: nil).price
    }
    #expect(try price([])?.locale == "de-CH" && price(["USA=es-US"])?.locale == "de-CH")
    #expect(try price([])?.formatted == "CHF\u{A0}1’234.50")
    let french = try #require(try price(["CHE=fr-CH"]))
    #expect(french.locale == "fr-CH" && french.formatted == "CHF\u{A0}1\u{202F}234,50")
  }

  @Test(
    "what is no territory with a language of its region is refused, and one that is named twice",
    arguments: [
      ["CHE"], ["CHE="], ["CH=fr-CH"], ["CHE=fr"], ["CHE=fr-FR"], ["CHE=qqq-CH"], ["CHE=fr-x-CH"],
      ["CHE=fr-u-nu-CH"], ["CHE=fr-CH", "CHE=it-CH"],
    ])
  func noPriceLocales(entries: [String]) {
    #expect(throws: ConfigurationError.self) { try localesOfPrices(entries) }
  }
}

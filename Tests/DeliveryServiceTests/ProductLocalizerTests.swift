import Commerce
import Foundation
import PullboxAPI
import Testing

@testable import DeliveryService

@Suite("Products in a client's language")
struct ProductLocalizerTests {
  private let formatters = PriceFormatters()

  private func price(
    _ locale: String?, tags: [String] = ["en-US"], currency: String = "EUR"
  ) throws -> String? {
    let texts = Dictionary(
      uniqueKeysWithValues: tags.map { ($0, Product.Localization(title: $0, description: "")) })
    let product = try Product(
      id: #require(ProductIdentifier("com.example.issue1")), type: .nonConsumable, localizations: texts,
      prices: ["FRA": #require(Price(amount: "3.49", currency: currency))])
    return ProductLocalizer(formatters: formatters, locale: locale, territory: "FRA")
      .listing(of: product, released: nil).price?.formatted
  }

  /// By CLDR: French has a no-break space before the sign, a narrow one is for thousands.
  @Test(
    "a price is written by the rules of the asked locale, whatever its spelling",
    arguments: [
      ("fr-FR", "3,49\u{A0}€"), ("fr_FR", "3,49\u{A0}€"), ("FR-fr", "3,49\u{A0}€"), ("fr", "3,49\u{A0}€"),
      ("de-DE", "3,49\u{A0}€"), ("en-US", "€3.49"), ("en-IE", "€3.49"), ("zh-Hant-TW", "€3.49"),
    ])
  func known(locale: String, formatted: String) throws {
    #expect(try price(locale) == formatted)
  }

  @Test(
    "subtags that the system does not know are left out, as are extensions",
    arguments: ["fr-XX", "fr-FR-x-a", "fr-FR-u-nu-thai", "fr-u"])
  func partlyKnown(locale: String) throws {
    #expect(try price(locale) == "3,49\u{A0}€")
  }

  @Test(
    "for a locale that is unknown, or none, the price is written as the texts are",
    arguments: [
      nil, "", "-", "qqq", "qqq-FR", "en us", "en_US@currency=USD", "fr-", "ｆｒ", "١٢",
      String(repeating: "fr-", count: 2000) + "FR",
    ])
  func unknown(locale: String?) throws {
    #expect(try price(locale, tags: ["de-DE"]) == "3,49\u{A0}€")
    #expect(try price(locale, tags: ["en-US"]) == "€3.49")
    #expect(try price(locale, tags: []) == "€3.49")
  }

  @Test("a thousand made-up locales make no formatter of their own")
  func madeUp() throws {
    for number in 0..<1000 {
      let locale = number.isMultiple(of: 2) ? "qq\(number)-FR" : "fr-FR-x\(number)"
      let expected = number.isMultiple(of: 2) ? "€3.49" : "3,49\u{A0}€"
      #expect(try price(locale) == expected)
    }
    #expect(formatters.made == 2)
  }

  @Test("of all the system's locales no more formatters are kept than there is room for")
  func bound() throws {
    #expect(Locale.availableIdentifiers.count > PriceFormatters.capacity)
    for identifier in Locale.availableIdentifiers.sorted() {
      _ = try price(identifier)
      #expect(formatters.count <= PriceFormatters.capacity)
    }
    #expect(formatters.count == PriceFormatters.capacity)
  }

  @Test("a formatter is kept for the next request, for each currency its own, and goes when it was not used")
  func reuse() throws {
    #expect(try price("en-US") == "€3.49")
    #expect(try price("en-US", currency: "USD") == "$3.49")
    #expect(formatters.made == 2)
    for identifier in Locale.availableIdentifiers.sorted().prefix(200) {
      _ = try price(identifier)
      _ = try price("en-US")
    }
    let made = formatters.made
    #expect(try price("en-US") == "€3.49")
    #expect(formatters.made == made)
    #expect(try price("en-US", currency: "USD") == "$3.49")
    #expect(formatters.made == made + 1)
  }
}

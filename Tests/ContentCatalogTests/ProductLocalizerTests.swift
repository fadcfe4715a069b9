import Commerce
import Foundation
import PullboxAPI
import Testing

@testable import ContentCatalog

/// Expected texts are those of CLDR (ICU's data of Foundation for Linux); digits and signs are escaped where a terminal would
/// turn them around.
@Suite("Products in a client's language")
struct ProductLocalizerTests {
  private func listing(
    locale: String?, territory: String?, tags: [String] = ["en-US"], prices: [String: Price]
  ) throws -> ProductListing {
    let texts = Dictionary(
      uniqueKeysWithValues: tags.map { ($0, Product.Localization(title: $0, description: "")) })
    let product = try Product(
      id: #require(ProductIdentifier("com.example.issue1")), type: .nonConsumable, localizations: texts,
      prices: prices)
    return ProductLocalizer(locale: locale, territory: territory.flatMap { Territory($0) })
      .listing(of: product, released: nil)
  }

  @Test(
    "a price is written by the rules of its territory, in the currency and the amount that were set",
    arguments: [
      ("USA", "USD", "2.99", "en-US", "$2.99"),
      ("FRA", "EUR", "3.49", "fr-FR", "3,49\u{A0}€"),
      ("DEU", "EUR", "1234.5", "de-DE", "1.234,50\u{A0}€"),
      ("BEL", "EUR", "3.49", "nl-BE", "€\u{A0}3,49"),
      ("GBR", "GBP", "2.99", "en-GB", "£2.99"),
      ("JPN", "JPY", "1300", "ja-JP", "¥1,300"),
      ("CHE", "CHF", "3", "de-CH", "CHF\u{A0}3.00"),
      ("IND", "INR", "123456.5", "hi-IN", "₹1,23,456.50"),
      ("BRA", "BRL", "9.9", "pt-BR", "R$\u{A0}9,90"),
      (
        "BHR", "BHD", "1.250", "ar-BH",
        "\u{200F}\u{661}\u{66B}\u{662}\u{665}\u{660}\u{A0}\u{62F}.\u{628}.\u{200F}"
      ),
      ("ISR", "ILS", "9.9", "he-IL", "\u{200F}9.90\u{A0}\u{200F}₪"),
      ("TWN", "TWD", "90", "zh-TW", "$90.00"),
    ])
  func territories(territory: String, currency: String, amount: String, locale: String, text: String) throws {
    let price = try #require(Price(amount: amount, currency: currency))
    for reader in ["fr-FR", "ar-EG", "en-US", nil] {
      let listed = try #require(
        try listing(locale: reader, territory: territory, prices: [territory: price]).price)
      #expect(listed.formatted == text)
      #expect(listed.locale == locale)
      #expect(listed.amount == amount && listed.currency == currency)
    }
  }

  @Test(
    "a price is never shown rounded: it has all the decimals that are paid, and at least those of its currency",
    arguments: [
      ("JPN", "JPY", "499.5", "¥499.5"), ("JPN", "JPY", "500.00", "¥500"),
      ("KOR", "KRW", "1900.99", "₩1,900.99"),
      ("ISL", "ISK", "1999.99", "1.999,99\u{A0}kr."), ("SRB", "RSD", "199.50", "199,5\u{A0}RSD"),
      ("DEU", "EUR", "2.995", "2,995\u{A0}€"), ("DEU", "EUR", "2.990", "2,99\u{A0}€"),
      ("IDN", "IDR", "0.5", "Rp0,5"), ("DEU", "EUR", "999999999.999", "999.999.999,999\u{A0}€"),
      ("USA", "KWD", "2.5", "KWD\u{A0}2.500"), ("USA", "BHD", "0.001", "BHD\u{A0}0.001"),
      ("USA", "EUR", "0", "€0.00"),
    ])
  func decimals(territory: String, currency: String, amount: String, text: String) throws {
    let price = try #require(Price(amount: amount, currency: currency))
    let listed = try #require(
      try listing(locale: nil, territory: territory, prices: [territory: price]).price)
    #expect(listed.formatted == text)
  }

  @Test(
    "texts are those of the asked locale, of another region of its language, English, or the first",
    arguments: [
      ("fr-FR", ["en-US", "fr-FR"], "fr-FR"), ("fr_FR", ["en-US", "fr-FR"], "fr-FR"),
      ("FR-fr", ["en-US", "fr-FR"], "fr-FR"), ("fr-CA", ["de-DE", "fr-FR"], "fr-FR"),
      ("fr", ["en-US", "fr-BE", "fr-FR"], "fr-BE"), ("it-IT", ["de-DE", "en-GB"], "en-GB"),
      ("it-IT", ["de-DE", "fr-FR"], "de-DE"), (nil, ["de-DE", "en-US"], "en-US"),
    ])
  func fallback(locale: String?, tags: [String], title: String) throws {
    #expect(try listing(locale: locale, territory: nil, tags: tags, prices: [:]).title == title)
  }

  @Test("without a territory the first price is shown, by the rules of its own; without prices none")
  func firstPrice() throws {
    let prices = try [
      "FRA": #require(Price(amount: "3.49", currency: "EUR")),
      "USA": #require(Price(amount: "2.99", currency: "USD")),
    ]
    #expect(try listing(locale: "en-US", territory: nil, prices: prices).price?.formatted == "3,49\u{A0}€")
    #expect(try listing(locale: "en-US", territory: nil, prices: [:]).price == nil)
    #expect(try listing(locale: "en-US", territory: "DEU", prices: prices).price == nil)
  }

  @Test("every territory has a locale with its own region")
  func locales() {
    for territory in Territory.all {
      let tag = PriceText.locale(of: territory)
      #expect(tag.hasSuffix("-\(territory.region)") && LanguageTag.isAssigned(tag), "\(tag)")
    }
  }

  @Test(
    "a tag of RFC 5646 is known by its language and region",
    arguments: [
      "fr", "fr-FR", "zh-Hant-TW", "es-419", "sl-rozaj-biske", "de-1996", "de-CH-x-phonebk", "en-u-nu-thai",
      "zh-yue-HK", "FR-fr",
    ])
  func tags(tag: String) {
    #expect(LanguageTag.isAssigned(tag))
  }

  @Test(
    "anything else is no tag, or of nowhere",
    arguments: [
      "", "-", "fr-", "-fr", "fr--FR", "qqq", "qqq-FR", "fr-QQ", "en us", "en_US", "en_US@currency=USD", "ｆｒ",
      "١٢", "x-private", "fr-u", "fr-FR-FR", "fr-abc-abc-abc-abc",
      String(repeating: "fr-", count: 2000) + "FR",
    ])
  func noTags(tag: String) {
    #expect(!LanguageTag.isAssigned(tag))
  }
}

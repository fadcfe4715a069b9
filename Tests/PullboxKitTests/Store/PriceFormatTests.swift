import Commerce
import Testing

@testable import PullboxKit

/// Expected texts are CLDR's patterns, expected decimals those of ISO 4217.
@Suite("Prices for people")
struct PriceFormatTests {
  private static let space = "\u{A0}"

  @Test(
    "each locale writes currency, separators and sides as CLDR says",
    arguments: [
      ("2.99", "USD", "en-US", "$2.99"), ("2.99", "EUR", "fr-FR", "2,99\u{A0}€"),
      ("2.99", "EUR", "de-DE", "2,99\u{A0}€"), ("1234.5", "EUR", "de-DE", "1.234,50\u{A0}€"),
      ("2.99", "GBP", "en-GB", "£2.99"), ("300", "JPY", "en-US", "¥300"),
      ("2.99", "EUR", "nl-NL", "€\u{A0}2,99"), ("2.99", "BRL", "pt-BR", "R$\u{A0}2,99"),
      ("1.250", "KWD", "en-US", "KWD\u{A0}1.250"),
    ])
  func locales(_ sample: (amount: String, currency: String, locale: String, text: String)) throws {
    let price = try #require(Price(amount: sample.amount, currency: sample.currency))
    #expect(PriceFormat.text(price, locale: sample.locale) == sample.text)
  }

  @Test("a currency has as many decimals as ISO 4217 gives its minor unit")
  func minorUnits() throws {
    for (currency, decimals) in [
      ("EUR", 2), ("JPY", 0), ("KRW", 0), ("ISK", 0), ("KWD", 3), ("TND", 3), ("XXX", 2),
    ] {
      #expect(PriceFormat.minorUnitDecimals(of: currency) == decimals)
    }
  }

  @Test("nothing is rounded: what is paid is shown")
  func unrounded() throws {
    #expect(
      PriceFormat.text(try #require(Price(amount: "2.995", currency: "USD")), locale: "en-US") == "$2.995")
    #expect(
      PriceFormat.text(try #require(Price(amount: "2.990", currency: "USD")), locale: "en-US") == "$2.99")
    #expect(PriceFormat.text(try #require(Price(amount: "2", currency: "USD")), locale: "en-US") == "$2.00")
  }
}

import Commerce
import Foundation
import Testing

@Suite("Prices")
struct PriceTests {
  @Test(
    "an amount is up to nine digits, with up to three decimals behind a point",
    arguments: [
      "0", "0.00", "1", "2.99", "300", "0.5", "1.125", "999999999", "999999999.999", "000000000.000", "05",
    ])
  func amounts(text: String) {
    #expect(Price(amount: text, currency: "EUR")?.amount == text)
  }

  @Test(
    "anything else is no amount",
    arguments: [
      "", ".", "1.", ".5", "1.2345", "1234567890", "-1", "+1", "1,50", "1.000.000", "1 000", " 1", "1 ",
      "1e3",
      "0x1", "NaN", "٣", "１", "1.²", "1.\u{301}", "€1", "2.99 EUR",
    ])
  func noAmounts(text: String) {
    #expect(Price(amount: text, currency: "EUR") == nil)
  }

  @Test("a currency is three capital letters", arguments: ["EUR", "USD", "JPY", "BHD", "XXX", "AAA", "ZZZ"])
  func currencies(text: String) {
    #expect(Price(amount: "1", currency: text)?.currency == text)
  }

  @Test(
    "anything else is no currency",
    arguments: [
      "", "EU", "EURO", "eur", "EuR", "EU1", "€", "E R", " EUR", "EUR ", "ÉUR", "ＥＵＲ", "EU@", "EU[",
    ])
  func noCurrencies(text: String) {
    #expect(Price(amount: "1", currency: text) == nil)
  }

  @Test("an amount is kept as it was written: 2.50 and 2.5 are not the same text")
  func asWritten() throws {
    let price = try #require(Price(amount: "2.50", currency: "EUR"))
    #expect(price != Price(amount: "2.5", currency: "EUR"))
    #expect(price != Price(amount: "2.50", currency: "USD"))
    #expect(price == Price(amount: "2.50", currency: "EUR"))
  }

  private func decode(_ text: String) throws -> Price {
    try JSONDecoder().decode(Price.self, from: Data(text.utf8))
  }

  @Test("in JSON it is two strings")
  func json() throws {
    #expect(try decode(#"{"amount":"2.99","currency":"EUR"}"#) == Price(amount: "2.99", currency: "EUR"))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let bytes = try encoder.encode(try #require(Price(amount: "0.990", currency: "BHD")))
    #expect(String(decoding: bytes, as: UTF8.self) == #"{"amount":"0.990","currency":"BHD"}"#)
  }

  @Test(
    "JSON that is no price is refused: above all a number, which a reader could round",
    arguments: [
      #"{"amount":2.99,"currency":"EUR"}"#, #"{"amount":"2,99","currency":"EUR"}"#,
      #"{"amount":"2.99","currency":"euro"}"#, #"{"amount":"2.99"}"#, #"{"currency":"EUR"}"#,
      #"{"amount":null,"currency":"EUR"}"#, #""2.99 EUR""#, "[]", "null",
    ])
  func noJSON(text: String) {
    #expect(throws: DecodingError.self) { try decode(text) }
  }

  @Test(
    "thousandths are written with the decimals that they need, two at least where there are any",
    arguments: [
      (0, "0"), (5, "0.005"), (990, "0.99"), (2500, "2.50"), (2990, "2.99"), (1_234_567, "1234.567"),
      (500_000, "500"),
      (999_999_999_999, "999999999.999"),
    ] as [(Int64, String)])
  func thousandths(number: Int64, amount: String) {
    #expect(Price(thousandths: number, currency: "EUR") == Price(amount: amount, currency: "EUR"))
  }

  @Test(
    "no price is less than nothing, or has more than nine digits before the point",
    arguments: [-1, 1_000_000_000_000, .max, .min] as [Int64])
  func impossible(number: Int64) {
    #expect(Price(thousandths: number, currency: "EUR") == nil)
  }
}

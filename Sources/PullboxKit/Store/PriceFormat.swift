public import Commerce
import Foundation

/// Writes prices for people, by the rules of a locale (CLDR) and with the decimals of the currency (ISO 4217): `$2.99`, `2,99 €`, `¥300`.
///
/// The price that a shop shows comes written from the server, by the rules of the customer's territory; this is for the other amounts,
/// such as those of offers and of higher prices, and for an app that lets its user choose a locale.
public enum PriceFormat {
  /// The price in the words of `locale` (BCP 47). Never rounded: an amount with more decimals than people write in that currency has all
  /// of its own, since that is what is paid. `2.99 EUR` for an amount that is no number.
  public static func text(_ price: Price, locale: String) -> String {
    guard let amount = Decimal(string: price.amount, locale: Locale(identifier: "en_US_POSIX")) else {
      return "\(price.amount) \(price.currency)"
    }
    let style = Decimal.FormatStyle.Currency(code: price.currency, locale: Locale(identifier: locale))
    let decimals = minorUnitDecimals(of: price.currency)
    let own = price.amount.split(separator: ".").dropFirst().first.map { trimmed($0) } ?? 0
    return amount.formatted(style.precision(.fractionLength(max(decimals, own))))
  }

  /// How many decimals the currency's minor unit has by ISO 4217: 2 for EUR, 0 for JPY, 3 for KWD; 2 for a code that is not listed.
  public static func minorUnitDecimals(of currency: String) -> Int {
    if withoutDecimals.contains(currency) { return 0 }
    if withThreeDecimals.contains(currency) { return 3 }
    return 2
  }

  /// Decimals that are no zeros at the end.
  private static func trimmed(_ decimals: Substring) -> Int {
    var rest = decimals
    while rest.last == "0" { rest.removeLast() }
    return rest.count
  }

  /// ISO 4217:2015, list one, minor unit 0.
  private static let withoutDecimals: Set<String> = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF",
    "XOF", "XPF",
  ]
  /// Minor unit 3.
  private static let withThreeDecimals: Set<String> = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]
}

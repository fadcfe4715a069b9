import Commerce
import CoreTypes
import Foundation
import ServiceRuntime
import Synchronization

/// Writes prices for people: by the rules of the territory that they are for, whatever language its reader has chosen.
enum PriceText {
  /// A language and a region (BCP 47): the likely language of the territory by CLDR, such as `fr-FR`.
  static func locale(of territory: Territory) -> String { locales[territory.code] ?? "en-US" }

  /// `amount` of a currency (ISO 4217) by the rules of `locale`, as ``locale(of:)`` answers it: a client's own text never
  /// comes here, since Foundation keeps each identifier that it is asked about until the process ends.
  ///
  /// Never rounded: an amount with more decimals than people write in that currency (`199.50 RSD`) has all of its own, since that is
  /// what is paid.
  static func formatted(_ amount: Decimal, currency: String, locale: String) -> String {
    let key = Written(amount: amount, currency: currency, locale: locale)
    if let known = written.locked({ $0.value(for: key) }) { return known }
    let text = text(of: amount, currency: currency, locale: locale)
    written.locked { $0.insert(text, for: key, length: ByteCount(1)) }
    return text
  }

  private struct Written: Hashable, Sendable {
    var amount: Decimal
    var currency: String
    var locale: String
  }

  /// The prices that were written last: a shop has few, and a page of it writes a hundred.
  private static let written = Mutex(
    RecentlyUsedCache<Written, String>(maximumCount: 4096, maximumLength: ByteCount(4096)))

  private static func text(of amount: Decimal, currency: String, locale: String) -> String {
    let style = Decimal.FormatStyle.Currency(code: currency, locale: Locale(identifier: locale))
    let customary = customaryDecimals(of: currency)
    guard rounded(amount, to: customary) != amount else { return amount.formatted(style) }
    return amount.formatted(
      style.precision(.fractionLength(customary...max(customary, Price.maximumDecimals))))
  }

  /// How many decimals people write, by CLDR: 2 for EUR, 0 for JPY, 3 for KWD.
  private static func customaryDecimals(of currency: String) -> Int {
    decimals.locked { decimals in
      if let known = decimals[currency] { return known }
      let text = Decimal(1).formatted(.currency(code: currency).locale(Locale(identifier: "en-US")))
      let count = text.lastIndex(of: ".").map { text.distance(from: $0, to: text.endIndex) - 1 } ?? 0
      // There are fewer than 200 currencies; a catalog may name others.
      if decimals.count < 1000 { decimals[currency] = count }
      return count
    }
  }

  /// The decimals of the currencies that were asked for, at most 1000 of them.
  private static let decimals = Mutex<[String: Int]>([:])

  private static func rounded(_ amount: Decimal, to decimals: Int) -> Decimal {
    var (amount, result) = (amount, Decimal())
    unsafe NSDecimalRound(&result, &amount, decimals, .plain)
    return result
  }

  /// By territory: its likely language with its region.
  private static let locales = Dictionary(
    uniqueKeysWithValues: Territory.all.map { territory in
      let likely = Locale.Language(
        identifier: Locale.Language(identifier: "und-\(territory.region)").maximalIdentifier)
      let language = likely.languageCode?.identifier ?? "en"
      return (territory.code, "\(language == "und" ? "en" : language)-\(territory.region)")
    })
}

/// The syntax of language tags (RFC 5646 §2.1), and the languages and regions that are assigned.
package enum LanguageTag {
  /// RFC 5646 §4.4.1: no tag in use is longer.
  package static let maximumLength = 35

  private static let languages = Set(Locale.LanguageCode.isoLanguageCodes.map(\.identifier))
  private static let regions = Set(Locale.Region.isoRegions.map(\.identifier))
    .union(Territory.all.map(\.region))

  /// Whether `text` is a tag such as `fr-FR`, of a language that ISO 639 and a region that ISO 3166 or UN M.49 knows; its
  /// case does not matter. A tag of private use alone is none.
  package static func isAssigned(_ text: String) -> Bool {
    var subtags = text.split(separator: "-", omittingEmptySubsequences: false)[...]
    guard text.utf8.count <= maximumLength,
      subtags.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(isAlphanumeric) }),
      let language = subtags.popFirst(), languages.contains(language.lowercased())
    else { return false }
    // Extended languages, then a script.
    for _ in 0..<3 where subtags.first.map({ $0.count == 3 && isAlphabetic($0) }) == true {
      subtags.removeFirst()
    }
    if let script = subtags.first, script.count == 4, isAlphabetic(script) { subtags.removeFirst() }
    if let region = subtags.first, region.count == 2 || region.count == 3 {
      guard regions.contains(region.uppercased()) else { return false }
      subtags.removeFirst()
    }
    while let variant = subtags.first, variant.count > 3 {
      guard variant.count > 4 || variant.first?.isNumber == true else { return false }
      subtags.removeFirst()
    }
    return isExtension(subtags)
  }

  /// Singletons, each with at least one subtag of two characters or more; `x` ends the tag, and takes shorter ones.
  private static func isExtension(_ subtags: ArraySlice<Substring>) -> Bool {
    var rest = subtags
    while let singleton = rest.popFirst() {
      guard singleton.count == 1, !rest.isEmpty else { return false }
      if singleton.lowercased() == "x" { return true }
      guard rest.first.map({ $0.count > 1 }) == true else { return false }
      rest = rest.drop { $0.count > 1 }
    }
    return true
  }

  private static func isAlphabetic(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }
}

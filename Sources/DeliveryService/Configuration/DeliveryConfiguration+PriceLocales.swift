import Commerce
import ContentCatalog
import ServiceRuntime

extension DeliveryConfiguration {
  /// By whose rules prices are written where that is not by the likely language of their territory. Each of ``priceLocales`` is a
  /// territory with a language and that region, such as `CHE=fr-CH`. Throws ``ConfigurationError`` for another, and for a territory
  /// that is named twice.
  func localesOfPrices() throws(ConfigurationError) -> [Territory: String] {
    var locales: [Territory: String] = [:]
    for entry in priceLocales ?? [] {
      let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, let territory = Territory(parts[0]), LanguageTag.isAssigned(parts[1]),
        parts[1].hasSuffix("-\(territory.region)"),
        !parts[1].split(separator: "-").contains(where: { $0.count == 1 })
      else {
        throw ConfigurationError(
          subject: "priceLocales",
          message: "each is a territory and a language of its region, such as CHE=fr-CH, and not \(entry)")
      }
      guard locales.updateValue(parts[1], forKey: territory) == nil else {
        throw ConfigurationError(subject: "priceLocales", message: "names \(territory.code) twice")
      }
    }
    return locales
  }
}

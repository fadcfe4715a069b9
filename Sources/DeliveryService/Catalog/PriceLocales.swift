import Commerce
import CoreTypes
import ServiceRuntime

/// By whose rules the prices of each territory are written: the likely language's there (``PriceText``), or what the operator says.
struct PriceLocales: Sendable {
  static let likely = PriceLocales()

  private var said: [Territory: String] = [:]

  private init() {}

  /// Each is a territory with a language and that region, such as `CHE=fr-CH`. Throws ``ConfigurationError`` for another, and
  /// for a territory that is named twice.
  init(_ entries: [String]) throws(ConfigurationError) {
    for entry in entries {
      let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, let territory = Territory(parts[0]), LanguageTag.isAssigned(parts[1]),
        parts[1].hasSuffix("-\(territory.region)")
      else {
        throw ConfigurationError(
          subject: "priceLocales",
          message: "each is a territory and a language of its region, such as CHE=fr-CH, and not \(entry)")
      }
      guard said.updateValue(parts[1], forKey: territory) == nil else {
        throw ConfigurationError(subject: "priceLocales", message: "names \(territory.code) twice")
      }
    }
  }

  func locale(of territory: Territory) -> String { said[territory] ?? PriceText.locale(of: territory) }
}

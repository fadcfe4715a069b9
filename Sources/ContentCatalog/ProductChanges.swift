import Commerce
import CoreTypes

/// The differences between two descriptions of a product, in words for the audit log. Pure.
struct ProductChanges {
  /// Changes that are told; the others are counted.
  static let maximumChanges = 12
  /// Characters of a value.
  static let maximumValueLength = 80

  private var changes: [String] = []

  /// Compares the members one by one; texts and prices by locale and territory, in their order.
  init(from before: Product, to after: Product) {
    note("type", before.type.rawValue, after.type.rawValue)
    for territory in Set(before.prices.keys).union(after.prices.keys).sorted() {
      note("price:\(territory)", Self.text(before.prices[territory]), Self.text(after.prices[territory]))
    }
    note("priceTier", before.priceTier, after.priceTier)
    if before.preservedPrices != after.preservedPrices { changes.append("preservedPrices changed") }
    note("publication", before.publication, after.publication)
    note("publicationDate", before.publicationDate, after.publicationDate)
    note("period", before.period, after.period)
    note("availableFrom", before.availableFrom, after.availableFrom)
    note("availableUntil", before.availableUntil, after.availableUntil)
    note("application", before.application, after.application)
    note("privacyURL", before.privacyURL, after.privacyURL)
    note("keepRevoked", before.keepRevoked, after.keepRevoked)
    if before.ownedIf != after.ownedIf { changes.append("ownedIf changed") }
    if before.samples != after.samples { changes.append("samples changed") }
    for locale in Set(before.localizations.keys).union(after.localizations.keys).sorted() {
      let (old, new) = (before.localizations[locale], after.localizations[locale])
      note("title:\(locale)", old?.title, new?.title)
      if let old, let new {
        if old.description != new.description { changes.append("description:\(locale) changed") }
        if old.terms != new.terms { changes.append("terms:\(locale) changed") }
      }
    }
  }

  /// `price:FRA 2.99 EUR to 3.99 EUR, publication heroes removed`; nil where nothing differs.
  var text: String? {
    guard !changes.isEmpty else { return nil }
    let rest = changes.count - Self.maximumChanges
    return changes.prefix(Self.maximumChanges).joined(separator: ", ")
      + (rest > 0 ? ", and \(rest) more" : "")
  }

  /// Notes a member that was added, removed or changed; a value is cut to ``maximumValueLength`` characters.
  private mutating func note<Value: Equatable & CustomStringConvertible>(
    _ name: String, _ old: Value?, _ new: Value?
  ) {
    func text(_ value: Value) -> String { String(value.description.prefix(Self.maximumValueLength)) }
    switch (old, new) {
    case (nil, nil): break
    case (nil, let new?): changes.append("\(name) \(text(new)) added")
    case (let old?, nil): changes.append("\(name) \(text(old)) removed")
    case (let old?, let new?):
      if old != new { changes.append("\(name) \(text(old)) to \(text(new))") }
    }
  }

  private static func text(_ price: Price?) -> String? { price.map { "\($0.amount) \($0.currency)" } }
}

package import Commerce
import ContentPackage
import CoreTypes
import Foundation
package import PullboxAPI
package import ServiceAPI

/// Turns an operator's description into a product, with defaults for what was left out, or lists every fault.
/// Pure.
package enum ProductValidator {
  /// Locales of one product.
  static let maximumLocalizations = 200
  /// Territories of one list of prices.
  static let maximumTerritories = 400
  /// In bytes of UTF-8.
  static let maximumTitleLength = 500
  /// In bytes of UTF-8.
  static let maximumDescriptionLength = 20_000
  /// Keys that one product names.
  static let maximumPublisherKeys = 8
  /// Files that a description names as samples.
  package static let maximumSamples = 10
  /// In bytes of UTF-8.
  static let maximumTermsLength = 4000
  /// Dates at which prices were preserved.
  static let maximumPreservedPrices = 10
  /// In bytes.
  static let maximumURLLength = 1000

  /// Throws `product-invalid` with every fault. Characters that cannot be seen are taken out of titles. Lists
  /// that are empty count as left out, and keys and preserved prices are kept in order.
  package static func product(
    _ id: ProductIdentifier, described description: ProductDescription
  ) throws(Problem) -> Product {
    var description = description
    // What cannot be seen would let a title read as another, or turn around what stands beside it.
    description.localizations = description.localizations?.mapValues { texts in
      var texts = texts
      texts.title = texts.title.removingInvisibleFormatting
      return texts
    }
    let faults = faults(in: description, for: id)
    guard faults.isEmpty else { throw Problem(.productInvalid, faults: faults) }
    return Product(
      id: id, type: description.type ?? .nonConsumable, localizations: description.localizations ?? [:],
      prices: description.prices ?? [:], publication: description.publication,
      publicationDate: description.publicationDate, period: description.period,
      publisherKeys: description.publisherKeys.flatMap { $0.isEmpty ? nil : $0.sorted() },
      samples: description.samples.flatMap { $0.isEmpty ? nil : $0 }, priceTier: description.priceTier,
      preservedPrices: description.preservedPrices.flatMap {
        $0.isEmpty ? nil : $0.sorted { $0.before < $1.before }
      }, availableFrom: description.availableFrom, availableUntil: description.availableUntil,
      application: description.application, privacyURL: description.privacyURL,
      ownedIf: description.ownedIf, keepRevoked: description.keepRevoked == true ? true : nil)
  }

  private static func faults(
    in description: ProductDescription, for id: ProductIdentifier
  ) -> [Problem.Fault] {
    var faults: [Problem.Fault] = []
    func add(_ code: String, at path: String, _ detail: String) {
      faults.append(Problem.Fault(code: code, path: path, detail: detail))
    }
    if let named = description.id, named != id {
      add("id-mismatch", at: "id", "the description is of \(named), the address names \(id)")
    }
    if id.description == "invalid" {
      add("id-reserved", at: "id", "the address of that name lists what was asked for in vain")
    }
    let type = description.type ?? .nonConsumable
    if type == .autoRenewableSubscription, description.period == nil {
      add("period-missing", at: "period", "an auto-renewable subscription needs a period, such as P1M")
    }
    if !type.isSubscription || type == .freeSubscription, description.period != nil {
      add("period-unexpected", at: "period", "only subscriptions that end have a period")
    }
    if type == .freeSubscription,
      description.prices?.isEmpty == false || (description.priceTier ?? .free) != .free
    {
      add("price-unexpected", at: "prices", "a free subscription has no prices")
    }
    if type != .nonConsumable, description.ownedIf != nil {
      add("owned-if", at: "ownedIf", "only a non-consumable is owned with an application")
    }
    if type.isSubscription, description.publication == nil {
      add("publication-missing", at: "publication", "a subscription names the publication it subscribes to")
    }
    let localizations = description.localizations ?? [:]
    if localizations.count > maximumLocalizations {
      add("too-many", at: "localizations", "at most \(maximumLocalizations) locales")
    }
    for (tag, texts) in localizations.sorted(by: { $0.key < $1.key }) {
      if !LanguageTag.isAssigned(tag) {
        add(
          "locale", at: "localizations.\(tag)", "no BCP 47 tag of a known language and region, such as fr-FR")
      }
      if texts.title.isEmpty || texts.title.utf8.count > maximumTitleLength {
        add("title", at: "localizations.\(tag).title", "1 to \(maximumTitleLength) bytes")
      }
      if texts.description.utf8.count > maximumDescriptionLength {
        add(
          "description", at: "localizations.\(tag).description", "at most \(maximumDescriptionLength) bytes")
      }
    }
    for (tag, texts) in localizations.sorted(by: { $0.key < $1.key })
    where (texts.terms?.utf8.count ?? 1) > maximumTermsLength || texts.terms?.isEmpty == true {
      add("terms", at: "localizations.\(tag).terms", "1 to \(maximumTermsLength) bytes")
    }
    let keys = description.publisherKeys ?? []
    if keys.count > maximumPublisherKeys {
      add("too-many", at: "publisherKeys", "at most \(maximumPublisherKeys) keys")
    }
    if Set(keys).count < keys.count { add("publisher-key", at: "publisherKeys", "a key is named twice") }
    let samples = description.samples ?? []
    if samples.count > maximumSamples {
      add("too-many", at: "samples", "at most \(maximumSamples) samples")
    }
    if Set(samples).count < samples.count { add("sample", at: "samples", "a file is named twice") }
    for (index, sample) in samples.enumerated() where (try? PackagePath(sample)) == nil {
      add("sample", at: "samples.\(index)", "not the path of a file in a package")
    }
    return faults + saleFaults(in: description)
  }

  /// Returns the faults of prices and dates.
  private static func saleFaults(in description: ProductDescription) -> [Problem.Fault] {
    var faults = priceFaults(in: description.prices ?? [:], at: "prices")
    func add(_ code: String, at path: String, _ detail: String) {
      faults.append(Problem.Fault(code: code, path: path, detail: detail))
    }
    if description.priceTier == .free, description.prices?.isEmpty == false {
      add("price-tier", at: "priceTier", "the tier 0 is free in all territories, and there are prices")
    }
    let preserved = description.preservedPrices ?? []
    if preserved.count > maximumPreservedPrices {
      add("too-many", at: "preservedPrices", "at most \(maximumPreservedPrices) dates")
    }
    if !preserved.isEmpty, description.type != .autoRenewableSubscription {
      add("preserved-prices", at: "preservedPrices", "only an auto-renewable subscription preserves prices")
    }
    if Set(preserved.map(\.before)).count < preserved.count {
      add("preserved-prices", at: "preservedPrices", "a date is there twice")
    }
    for (index, entry) in preserved.enumerated() {
      if entry.prices.isEmpty { add("preserved-prices", at: "preservedPrices.\(index)", "has no prices") }
      faults += priceFaults(in: entry.prices, at: "preservedPrices.\(index).prices")
    }
    if let from = description.availableFrom, let until = description.availableUntil, until <= from {
      add("dates", at: "availableUntil", "is not after availableFrom")
    }
    if let address = description.privacyURL, !isPublicAddress(address) {
      add("address", at: "privacyURL", "an https address of at most \(maximumURLLength) bytes")
    }
    return faults
  }

  /// Returns the faults of prices by territory.
  static func priceFaults(in prices: [String: Price], at path: String) -> [Problem.Fault] {
    var faults: [Problem.Fault] = []
    if prices.count > maximumTerritories {
      faults.append(
        Problem.Fault(code: "too-many", path: path, detail: "at most \(maximumTerritories) territories"))
    }
    for territory in prices.keys.sorted() where Territory(territory) == nil {
      faults.append(
        Problem.Fault(
          code: "territory", path: "\(path).\(territory)",
          detail: "no code of ISO 3166-1 in three capital letters, such as FRA"))
    }
    return faults
  }

  /// Whether the text is an https address of printable ASCII with a host, and without a user or password.
  private static func isPublicAddress(_ text: String) -> Bool {
    guard text.utf8.count <= maximumURLLength, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let address = URLComponents(string: text), address.scheme?.lowercased() == "https",
      address.host?.isEmpty == false
    else { return false }
    return address.user == nil && address.password == nil
  }
}

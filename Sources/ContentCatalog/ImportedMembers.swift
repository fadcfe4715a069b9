import Commerce
import PullboxAPI
import ServiceAPI

/// The members of products that an import changes: everything else stays as it is. Pure.
struct ImportedMembers: Sendable {
  /// The members that the import names; each may be absent in an item, which takes it away.
  let members: Set<CatalogMember>

  /// The description with the rest of the product as it stands. A member that the import names counts as the
  /// item says it, also where the item says nothing. Whether it is on sale is the item's word in any case.
  func completing(_ said: ProductDescription, of before: Product) -> ProductDescription {
    var whole = ProductDescription(of: before, onSale: said.onSale)
    whole.publisherKeys = said.publisherKeys
    whole.localizations = localizations(said.localizations ?? [:], before: before.localizations)
    whole.prices = prices(said.prices ?? [:], before: before.prices)
    for case .plain(let member) in members {
      switch member {
      case .type: whole.type = said.type
      case .publication: whole.publication = said.publication
      case .publicationDate: whole.publicationDate = said.publicationDate
      case .period: whole.period = said.period
      case .samples: whole.samples = said.samples
      case .priceTier: whole.priceTier = said.priceTier
      case .availableFrom: whole.availableFrom = said.availableFrom
      case .availableUntil: whole.availableUntil = said.availableUntil
      case .application: whole.application = said.application
      case .privacyURL: whole.privacyURL = said.privacyURL
      case .ownedIfVersionBelow:
        if case .originalVersionBelow? = before.ownedIf { whole.ownedIf = nil }
      case .ownedIfPurchaseBefore:
        if case .originalPurchaseBefore? = before.ownedIf { whole.ownedIf = nil }
      case .keepRevoked: whole.keepRevoked = said.keepRevoked
      case .onSale, .cover, .order: break
      }
    }
    if let condition = said.ownedIf { whole.ownedIf = condition }
    for case .preserved(let territory, let date) in members {
      let price = said.preservedPrices?.first { $0.before == date }?.prices[territory]
      var entries = whole.preservedPrices ?? []
      if let index = entries.firstIndex(where: { $0.before == date }) {
        entries[index].prices[territory] = price
      } else if let price {
        entries.append(PreservedPrices(before: date, prices: [territory: price]))
      }
      whole.preservedPrices = entries.filter { !$0.prices.isEmpty }
    }
    return whole
  }

  /// The same of a publication.
  func completing(
    _ said: PublicationDescription, of before: OperatorPublication
  ) -> PublicationDescription {
    var whole = PublicationDescription(of: before)
    whole.localizations = localizations(said.localizations ?? [:], before: before.localizations)
    if members.contains(.plain(.cover)) { whole.cover = said.cover }
    if members.contains(.plain(.order)) { whole.order = said.order }
    var policy = before.policy ?? SubscriptionPolicy()
    for case .policy(let member) in members { policy.take(member, from: said.policy ?? SubscriptionPolicy()) }
    whole.policy = policy == SubscriptionPolicy() ? nil : policy
    return whole
  }

  /// By territory.
  func prices(_ said: [String: Price], before: [String: Price]) -> [String: Price] {
    var whole = before
    for case .price(let territory) in members { whole[territory] = said[territory] }
    return whole
  }

  /// Returns the texts by locale, with those members changed that the import names.
  private func localizations(
    _ said: [String: Product.Localization], before: [String: Product.Localization]
  ) -> [String: Product.Localization] {
    var whole = before
    for member in members {
      switch member {
      case .title(let locale): whole[locale, default: .none].title = said[locale]?.title ?? ""
      case .text(let locale): whole[locale, default: .none].description = said[locale]?.description ?? ""
      case .terms(let locale): whole[locale, default: .none].terms = said[locale]?.terms
      case .plain, .policy, .price, .preserved: break
      }
    }
    // An empty title takes the language away, unless something is said in it.
    return whole.filter { locale, texts in
      texts != .none && (said[locale] != nil || !members.contains(.title(locale: locale)))
    }
  }
}

extension Product.Localization {
  fileprivate static let none = Product.Localization(title: "", description: "")
}

import Commerce
import ContentCatalog
import CoreTypes
import DeliveryModel
import Entitlements
import PullboxAPI
import ServiceAPI

/// The products of a customer as a license lists them. Pure.
///
/// Consumables are left out, as in the feed: what one of the customer's devices bought is delivered there, once.
struct LicensedProducts: Sendable {
  /// In the order of their names.
  private(set) var owned: [License.Owned] = []
  /// In the order of their names.
  private(set) var ended: [License.Ended] = []
  /// Whether all have room.
  let isWhole: Bool

  /// A product as one of the lists has it.
  enum Entry: Hashable {
    case owned(License.Owned)
    case ended(License.Ended)

    var product: ProductIdentifier {
      switch self {
      case .owned(let owned): owned.product
      case .ended(let ended): ended.product
      }
    }

    var isOwned: Bool {
      if case .owned = self { true } else { false }
    }

    var length: Int {
      switch self {
      case .owned(let owned): owned.listedLength
      case .ended(let ended): ended.listedLength
      }
    }
  }

  /// - Parameters:
  ///   - report: the verdicts about the customer's products.
  ///   - limit: the products that are listed, at most: those that are owned before others, and of these the latest.
  ///   - room: the bytes that the lists take, at most.
  init(
    _ report: EntitlementReport, in catalog: CatalogSnapshot, limit: Int = License.maximumProducts,
    room: Int = License.maximumListLength
  ) {
    func date(_ product: ProductIdentifier) -> Timestamp {
      catalog[product]?.product.publicationDate ?? Timestamp(millisecondsSinceEpoch: 0)
    }
    let all = report.verdicts.compactMap { product, verdict in
      Self.entry(product, verdict, report, in: catalog)
    }
    let listed = Self.cut(all, limit: limit, room: room, date: date)
    isWhole = listed.count == all.count
    for entry in listed.sorted(by: { $0.product < $1.product }) {
      switch entry {
      case .owned(let product): owned.append(product)
      case .ended(let product): ended.append(product)
      }
    }
  }

  /// The entries that have room, in no order where all have.
  static func cut(
    _ entries: [Entry], limit: Int, room: Int, date: (ProductIdentifier) -> Timestamp
  ) -> [Entry] {
    guard entries.count > limit || entries.reduce(0, { $0 + $1.length }) > room else { return entries }
    let sorted = entries.sorted { left, right in
      guard left.isOwned == right.isOwned else { return left.isOwned }
      let dates = (date(left.product), date(right.product))
      return dates.0 == dates.1 ? left.product < right.product : dates.0 > dates.1
    }
    var rest = room
    return Array(
      sorted.prefix(limit).prefix { entry in
        rest -= entry.length
        return rest >= 0
      })
  }

  /// Nil for what no license lists.
  private static func entry(
    _ product: ProductIdentifier, _ verdict: Entitlement, _ report: EntitlementReport,
    in catalog: CatalogSnapshot
  ) -> Entry? {
    guard let type = catalog[product]?.product.type, type != .consumable else { return nil }
    let until = report.ends[product]
    let rule: EntitlementRule
    switch verdict {
    case .owned(let claim):
      return .owned(License.Owned(product: product, because: claim.reason.rawValue, until: until))
    case .revoked: rule = .revoked
    case .expired: rule = type.isSubscription ? .periodOver : .closedByLapse
    case .notOwned: return nil
    }
    return .ended(
      License.Ended(
        product: product, because: rule.rawValue, until: until,
        keep: catalog.keepsRevoked(product) ? true : nil))
  }
}

extension CatalogSnapshot {
  /// Whether the publisher leaves the product's content to those whose purchase was taken back.
  func keepsRevoked(_ product: ProductIdentifier) -> Bool {
    guard let product = self[product]?.product else { return false }
    return product.keepRevoked == true
      || product.publication.flatMap { policies[$0] }?.keepsRevokedIssues == true
  }
}

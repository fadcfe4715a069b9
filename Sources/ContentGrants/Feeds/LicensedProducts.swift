import Commerce
import ContentCatalog
import CoreTypes
import DeliveryModel
import PullboxAPI

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

  /// - Parameters:
  ///   - report: the verdicts about the customer's products.
  ///   - limit: the products that are listed, at most: those that are owned before others, and of these the latest.
  init(
    _ report: EntitlementReport, in catalog: CatalogSnapshot, limit: Int = License.maximumProducts
  ) {
    func date(_ product: ProductIdentifier) -> Timestamp {
      catalog[product]?.product.publicationDate ?? Timestamp(millisecondsSinceEpoch: 0)
    }
    let told = report.verdicts.filter { product, verdict in
      verdict != .notOwned && catalog[product].map { $0.product.type != .consumable } ?? false
    }
    isWhole = told.count <= limit
    var listed = told.map { (product: $0.key, verdict: $0.value) }
    if !isWhole {
      listed.sort { left, right in
        guard left.verdict.isOwned == right.verdict.isOwned else { return left.verdict.isOwned }
        let dates = (date(left.product), date(right.product))
        return dates.0 == dates.1 ? left.product < right.product : dates.0 > dates.1
      }
      listed.removeLast(listed.count - limit)
    }
    for (product, verdict) in listed.sorted(by: { $0.product < $1.product }) {
      let until = report.ends[product]
      switch verdict {
      case .owned(let claim):
        owned.append(License.Owned(product: product, because: claim.reason.rawValue, until: until))
      case .revoked:
        ended.append(
          License.Ended(
            product: product, because: EntitlementRule.revoked.rawValue, until: until,
            keep: catalog.keepsRevoked(product) ? true : nil))
      case .expired:
        let isSubscription = catalog[product]?.product.type.isSubscription == true
        let rule: EntitlementRule = isSubscription ? .periodOver : .closedByLapse
        ended.append(
          License.Ended(
            product: product, because: rule.rawValue, until: until,
            keep: catalog.keepsRevoked(product) ? true : nil))
      case .notOwned: continue
      }
    }
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

import Commerce
import ContentCatalog
import CoreTypes
import DeliveryRecords
import Entitlements
import PullboxAPI

/// Whether a sale leaves nothing to deliver: what it opened is where it belongs already, or cannot be had. No device will ever report
/// a delivery for it, so that its store would take it back, or show it as unfinished for ever.
///
///     let rule = EmptySaleRule(
///       catalog: catalog, report: report, devices: devices, completed: completed, now: now)
///     if rule.isEmpty(transaction) { … }
struct EmptySaleRule: Sendable {
  /// The catalog of the same revision as the report.
  let catalog: CatalogSnapshot
  /// The report on the transactions of one customer at one store and environment.
  let report: EntitlementReport
  /// Those that are to have what is opened.
  let devices: [DeviceIdentifier]
  /// By product: the devices that completed a version of it, for whichever transaction, by a grant that stands.
  let completed: [ProductIdentifier: Set<DeviceIdentifier>]
  /// The moment at which the report holds.
  let now: Timestamp

  /// Never of a consumable, of a refund, of a product that the catalog does not have, and of a single product that cannot be had: that
  /// was paid for, and never came. Nor of a purchase of a date to come: the clock was set back behind it, and what it opened counts as
  /// not published yet. `isPressing` where the store is about to take it back: then what one device has is delivered.
  ///
  /// See docs/stores.md for stores that take purchases back.
  func isEmpty(_ transaction: VerifiedTransaction, isPressing: Bool = false) -> Bool {
    guard transaction.revokedDate == nil, transaction.origin == nil, transaction.purchaseDate <= now,
      let type = catalog[transaction.product]?.product.type, type != .consumable
    else { return false }
    let opened = report.products(claimedBy: transaction.id).compactMap { catalog[$0] }
      .filter { !$0.product.type.isSubscription }
    guard type.isSubscription || opened.contains(where: \.isReleased) else { return false }
    let isTakenBack = transaction.acknowledgement?.deadline != nil
    return opened.allSatisfy { isDelivered($0, isTakenBack: isTakenBack, isPressing: isPressing) }
  }

  /// Whether nothing is left to deliver of one opened product.
  ///
  /// - Parameters:
  ///   - isTakenBack: whether the store takes the purchase back unless it is told.
  ///   - isPressing: whether it does so soon, so that one device's completion is enough.
  private func isDelivered(_ entry: CatalogSnapshot.Entry, isTakenBack: Bool, isPressing: Bool) -> Bool {
    let product = entry.product
    // What was withdrawn is not owed any more. What never had a version is, unless the sale would not live to see it.
    guard entry.isReleased else { return isTakenBack || product.firstReleased != nil }
    guard !devices.isEmpty else { return entry.releasedToAll == nil }
    let recipients = devices.filter { catalog.offered(product.id, to: $0) != nil }
    let owners = completed[product.id] ?? []
    return isPressing && !owners.isEmpty || recipients.allSatisfy(owners.contains)
  }
}

extension CatalogSnapshot.Entry {
  fileprivate var isReleased: Bool { releasedToAll != nil || releasedToPart != nil }
}

public import Commerce
public import CoreTypes
import Crypto

/// The transactions of a purchase that Google Play vouches for.
public struct GoogleVerdict: Hashable, Sendable {
  /// One for each product.
  public var transactions: [VerifiedTransaction]
  /// The token whose purchase this one replaces: what that one opened ends at ``start``.
  public var replaced: GooglePurchaseToken?
  /// When the purchase began.
  public var start: Timestamp
}

/// Why an answer of the store vouches for nothing.
public enum GoogleRefusal: Error, Hashable, Sendable {
  /// It is not paid for yet.
  case pending
  /// A member that every purchase has is missing.
  case incomplete
}

/// The transactions of orders that are known from before. Google tells the end of a subscription's last
/// period but not its beginning, and of a refund nothing at all.
public protocol GoogleOrderHistory {
  /// The order's transaction as it was last written down.
  func transaction(_ id: TransactionIdentifier, in environment: StoreEnvironment) -> VerifiedTransaction?
  /// The end of the latest period of the purchase that is known, other than that order's.
  func latestEnd(
    of original: TransactionIdentifier, besides id: TransactionIdentifier, in environment: StoreEnvironment
  ) -> Timestamp?
  /// When an order that is not known yet was paid for, where all that was paid for before it, and its grace, had ended by then;
  /// nil where it goes on, or where that is not known.
  func resumption(of order: GoogleOrder, in environment: StoreEnvironment) -> Timestamp?
}

extension GoogleOrderHistory {
  /// Nil: nothing is known of payments.
  public func resumption(of order: GoogleOrder, in environment: StoreEnvironment) -> Timestamp? { nil }
}

extension GoogleProductPurchase {
  /// The transactions of the purchase with that token. A refund that is known stays one: the store's answer about a token
  /// does not tell of all of them. `consumes` says what can be bought again once it was delivered, which the answer does not.
  /// Throws ``GoogleRefusal``.
  public func verdict(
    for token: GooglePurchaseToken, by store: StoreIdentifier, of application: ApplicationIdentifier? = nil,
    known history: some GoogleOrderHistory,
    consumes: (ProductIdentifier) -> Bool = { _ in false }, asOf moment: Timestamp
  ) throws(GoogleRefusal) -> GoogleVerdict {
    // One that was cancelled while it waited was never completed, and there is nothing to take back.
    guard state != .pending, state != .cancelled || purchaseCompletionTime != nil else { throw .pending }
    guard let items = productLineItem, (1...Self.maximumItems).contains(items.count),
      let date = purchaseCompletionTime.flatMap({ Timestamp(clampingRFC3339: $0) })
    else { throw .incomplete }
    // What was given away has no order; its token names it.
    guard let order = GoogleOrder(orderId ?? GoogleTokenName.of(token)) else { throw .incomplete }
    var transactions: [VerifiedTransaction] = []
    for item in items {
      guard let product = item.productId.flatMap({ ProductIdentifier($0) }),
        let id = items.count == 1 ? order.id : GoogleTokenName.part(of: order.id, product)
      else { throw .incomplete }
      let offer = item.productOfferDetails
      let quantity = max(1, offer?.quantity ?? 1)
      let known = history.transaction(id, in: environment)
      let isTakenBack = state == .cancelled || item.isTakenBack
      transactions.append(
        VerifiedTransaction(
          vouchedForBy: store, in: environment, id: id, originalID: order.original, product: product,
          purchaseDate: date,
          // When it was taken back, this answer does not say.
          revokedDate: known?.revokedDate ?? (isTakenBack ? date : nil), quantity: quantity,
          account: obfuscatedExternalAccountId.flatMap { ApplicationAccount($0) }, application: application,
          territory: regionCode.flatMap { Territory(region: $0) },
          acknowledgement: Acknowledgement(
            consumes(product) ? .consume : .acknowledge,
            reference: GooglePurchaseReference(kind: .product, product: product, token: token).text,
            deadline: isAcknowledged ? nil : GoogleAcknowledgement.deadline(after: date, in: environment)),
          asOf: moment, tellsRefunds: false))
    }
    return GoogleVerdict(transactions: transactions, start: date)
  }
}

extension GoogleSubscriptionPurchase {
  /// An item of which something was paid for.
  private struct PaidItem {
    var product: ProductIdentifier
    var order: GoogleOrder
    var expiry: Timestamp
  }

  /// The items with an order and an end. One without is not paid for: what a change that is scheduled will bring, say. Throws
  /// ``GoogleRefusal``.
  private func paidItems() throws(GoogleRefusal) -> [PaidItem] {
    guard let items = lineItems, (1...GoogleProductPurchase.maximumItems).contains(items.count) else {
      throw .incomplete
    }
    var paid: [PaidItem] = []
    for item in items {
      guard let order = item.latestSuccessfulOrderId ?? latestOrderId, let expiry = item.expiryTime else {
        continue
      }
      guard let product = item.productId.flatMap({ ProductIdentifier($0) }), let order = GoogleOrder(order),
        let expiry = Timestamp(clampingRFC3339: expiry)
      else { throw .incomplete }
      paid.append(PaidItem(product: product, order: order, expiry: expiry))
    }
    guard !paid.isEmpty else { throw .pending }
    return paid
  }

  /// Returns the transactions of the subscription with that token, like
  /// ``GoogleProductPurchase/verdict(for:by:of:known:consumes:asOf:)``: one for the last period of each
  /// product. The period begins where the last known period before it ended. After a lapse it begins with its
  /// payment, and with the subscription where no earlier period is known. Throws ``GoogleRefusal``.
  public func verdict(
    for token: GooglePurchaseToken, by store: StoreIdentifier, of application: ApplicationIdentifier? = nil,
    known history: some GoogleOrderHistory,
    asOf moment: Timestamp
  ) throws(GoogleRefusal) -> GoogleVerdict {
    guard state != .pending else { throw .pending }
    let items = try paidItems()
    guard let start = startTime.flatMap({ Timestamp(clampingRFC3339: $0) }) else { throw .incomplete }
    var transactions: [VerifiedTransaction] = []
    for item in items {
      let order = item.order
      let isAlone = items.count { $0.order == order } == 1
      guard let id = isAlone ? order.id : GoogleTokenName.part(of: order.id, item.product) else {
        throw .incomplete
      }
      let known = history.transaction(id, in: environment)
      // What an end in the future says of one that is suspended is not known; it opens nothing up to there.
      let expiry = state == .suspended ? min(item.expiry, moment) : item.expiry
      let earlier = history.latestEnd(of: order.original, besides: id, in: environment)
      let follows = max(start, earlier.flatMap { $0 < expiry ? $0 : nil } ?? start)
      let begin =
        known?.purchaseDate ?? history.resumption(of: order, in: environment).map {
          max(follows, min($0, expiry))
        }
        ?? follows
      // The time of a grace is added to the expiry; what was paid for ended where it did before.
      let endedBefore = state != .paid || known?.graceExpiresDate != nil
      let paidUntil = endedBefore ? min(known?.expiresDate ?? expiry, expiry) : expiry
      transactions.append(
        VerifiedTransaction(
          vouchedForBy: store, in: environment, id: id, originalID: order.original, product: item.product,
          purchaseDate: begin, expiresDate: max(begin, paidUntil),
          graceExpiresDate: graceEnd(expiry, after: paidUntil, known: known),
          revokedDate: known?.revokedDate,
          account: externalAccountIdentifiers?.obfuscatedExternalAccountId.flatMap { ApplicationAccount($0) },
          application: application, territory: regionCode.flatMap { Territory(region: $0) },
          acknowledgement: Acknowledgement(
            .acknowledge,
            reference: GooglePurchaseReference(kind: .subscription, product: item.product, token: token).text,
            deadline: isAcknowledged || hasExpired
              ? nil : GoogleAcknowledgement.deadline(after: start, in: environment)),
          asOf: moment, tellsRefunds: false))
    }
    return GoogleVerdict(
      transactions: transactions,
      replaced: linkedPurchaseToken.flatMap { GooglePurchaseToken($0) }, start: start)
  }

  /// A pause is no grace: it begins where what was paid for ends.
  private func graceEnd(
    _ expiry: Timestamp, after paidUntil: Timestamp, known: VerifiedTransaction?
  ) -> Timestamp? {
    guard paidUntil < expiry, state != .suspended || known?.graceExpiresDate != nil else { return nil }
    return expiry
  }
}

/// Names for purchases and products of an order that have no name of their own.
enum GoogleTokenName {
  /// Returns a name for a purchase without an order.
  static func of(_ token: GooglePurchaseToken) -> String {
    "token." + SHA256Digest.of(Array(token.text.utf8)).description.prefix(48)
  }

  /// Returns a name for one of several products of an order.
  static func part(of order: TransactionIdentifier, _ product: ProductIdentifier) -> TransactionIdentifier? {
    let digest = SHA256Digest.of(Array(product.description.utf8)).description.prefix(12)
    return TransactionIdentifier("\(order).p\(digest)")
  }
}

/// Whether the store was told of a delivery.
enum GoogleAcknowledgement {
  static let done = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED"

  /// When the store refunds by itself what it was not told of: after three days, for license testers after three minutes.
  static func deadline(after start: Timestamp, in environment: StoreEnvironment) -> Timestamp {
    (start + .seconds(environment == .production ? 3 * 86_400 : 180)).writable
  }
}

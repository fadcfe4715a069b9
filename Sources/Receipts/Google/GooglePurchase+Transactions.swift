public import Commerce
public import CoreTypes
import Crypto

/// What Google Play vouches for.
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
  /// What every purchase has is missing.
  case incomplete
}

/// What is known of an order from before: Google tells the end of a subscription's last period, not its beginning, and of a
/// refund nothing at all.
public protocol GoogleOrderHistory {
  /// The order's transaction as it was last written down.
  func transaction(_ id: TransactionIdentifier, in environment: StoreEnvironment) -> VerifiedTransaction?
  /// The end of the latest period of the purchase that is known, other than that order's.
  func latestEnd(
    of original: TransactionIdentifier, besides id: TransactionIdentifier, in environment: StoreEnvironment
  ) -> Timestamp?
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
      let date = purchaseCompletionTime.flatMap({ Timestamp(rfc3339: $0) })
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
      let isTakenBack = state == .cancelled || offer?.refundableQuantity == 0
      transactions.append(
        VerifiedTransaction(
          vouchedForBy: store, in: environment, id: id, originalID: order.original, product: product,
          purchaseDate: date,
          // When it was taken back, this answer does not say.
          revokedDate: known?.revokedDate ?? (isTakenBack ? date : nil), quantity: quantity,
          account: obfuscatedExternalAccountId.flatMap { ApplicationAccount($0) }, application: application,
          acknowledgement: Acknowledgement(
            consumes(product) ? .consume : .acknowledge,
            reference: GooglePurchaseReference(kind: .product, product: product, token: token).text,
            deadline: isAcknowledged ? nil : GoogleAcknowledgement.deadline(after: date, in: environment)),
          asOf: moment))
    }
    return GoogleVerdict(transactions: transactions, start: date)
  }
}

extension GoogleSubscriptionPurchase {
  /// As ``GoogleProductPurchase/verdict(for:by:of:known:consumes:asOf:)``: the last period of each product. It begins where the one before
  /// it ended that is known, and with the subscription where none is.
  public func verdict(
    for token: GooglePurchaseToken, by store: StoreIdentifier, of application: ApplicationIdentifier? = nil,
    known history: some GoogleOrderHistory,
    asOf moment: Timestamp
  ) throws(GoogleRefusal) -> GoogleVerdict {
    guard state != .pending else { throw .pending }
    guard let items = lineItems, (1...GoogleProductPurchase.maximumItems).contains(items.count),
      let start = startTime.flatMap({ Timestamp(rfc3339: $0) })
    else { throw .incomplete }
    var transactions: [VerifiedTransaction] = []
    for item in items {
      guard let product = item.productId.flatMap({ ProductIdentifier($0) }),
        let order = (item.latestSuccessfulOrderId ?? latestOrderId).flatMap({ GoogleOrder($0) }),
        let expiry = item.expiryTime.flatMap({ Timestamp(rfc3339: $0) }),
        let id = items.count == 1 ? order.id : GoogleTokenName.part(of: order.id, product)
      else { throw .incomplete }
      let known = history.transaction(id, in: environment)
      let earlier = history.latestEnd(of: order.original, besides: id, in: environment)
      let begin = known?.purchaseDate ?? max(start, earlier.flatMap { $0 < expiry ? $0 : nil } ?? start)
      // The time of a grace is added to the expiry; what was paid for ended where it did before.
      let hasGrace = state == .inGrace || known?.graceExpiresDate != nil
      let paidUntil = hasGrace ? min(known?.expiresDate ?? expiry, expiry) : expiry
      transactions.append(
        VerifiedTransaction(
          vouchedForBy: store, in: environment, id: id, originalID: order.original, product: product,
          purchaseDate: begin, expiresDate: max(begin, paidUntil),
          graceExpiresDate: paidUntil < expiry ? expiry : nil,
          revokedDate: known?.revokedDate,
          account: externalAccountIdentifiers?.obfuscatedExternalAccountId.flatMap { ApplicationAccount($0) },
          application: application,
          acknowledgement: Acknowledgement(
            .acknowledge,
            reference: GooglePurchaseReference(kind: .subscription, product: product, token: token).text,
            deadline: isAcknowledged ? nil : GoogleAcknowledgement.deadline(after: start, in: environment)),
          asOf: moment))
    }
    return GoogleVerdict(
      transactions: transactions,
      replaced: linkedPurchaseToken.flatMap { GooglePurchaseToken($0) }, start: start)
  }
}

/// Names for what has none of its own.
enum GoogleTokenName {
  /// Of a purchase without an order.
  static func of(_ token: GooglePurchaseToken) -> String {
    "token." + SHA256Digest.of(Array(token.text.utf8)).description.prefix(48)
  }

  /// Of one of several products of an order.
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
    start + (environment == .production ? .seconds(3 * 86_400) : .seconds(180))
  }
}

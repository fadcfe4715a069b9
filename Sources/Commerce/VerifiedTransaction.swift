public import CoreTypes

/// One purchase that a store, or a signature that leads to a trusted root, vouches for. The entitlement rules accept
/// nothing else.
public struct VerifiedTransaction: Hashable, Sendable {
  /// The store that vouches for the transaction.
  public let store: StoreIdentifier
  /// The environment of that store.
  public let environment: StoreEnvironment
  /// The store's name of the transaction.
  public let id: TransactionIdentifier
  /// The first transaction of this purchase: equal to ``id`` unless this one is a renewal or a restored purchase.
  public let originalID: TransactionIdentifier
  /// What was bought.
  public let product: ProductIdentifier
  /// When it was paid for.
  public let purchaseDate: Timestamp
  /// The end of a subscription's period; the period does not contain it. Nil for what does not expire.
  public let expiresDate: Timestamp?
  /// The end of the grace after the period, while a renewal that could not be charged is tried again. The service goes on
  /// up to it; nothing else is bought by it.
  public let graceExpiresDate: Timestamp?
  /// Up to when the store tries to charge for the next period, after which it gives up; nil where it does not try.
  public let billingRetryEndDate: Timestamp?
  /// When the purchase was refunded or withdrawn: it then counts as never made.
  public let revokedDate: Timestamp?
  /// The end of the license of a volume purchase that was withdrawn; nil for one that goes on, and for all else.
  public let licenseEndDate: Timestamp?
  /// The moment as of which the store told of that end, or that there is none; nil where it told nothing of licenses.
  public let licenseAsOf: Timestamp?
  /// How many were bought, at least 1.
  public let quantity: Int
  /// What was paid, where the store tells it.
  public let price: Price?
  /// Whom the application bought it for, where it told the store.
  public let account: ApplicationAccount?
  /// The application that sold it, where the proof tells it.
  public let application: ApplicationIdentifier?
  /// Where it was sold, where the proof tells it.
  public let territory: Territory?
  /// How the store is told of the delivery; nil where it is told that the transaction is finished.
  public let acknowledgement: Acknowledgement?
  /// Only of the purchase of an application itself.
  public let origin: ApplicationOrigin?
  /// The moment up to which the store knew what it says here, by its own clock. What happened later, a refund say, is
  /// not in it.
  public let asOf: Timestamp
  /// Whether the store would have told here of a refund. Where it would not, a statement without one takes back no refund that is
  /// known.
  public let tellsRefunds: Bool

  /// For those who have checked the proof: receipt and signature verifiers, and tests of the rules. Without `asOf` the
  /// store knew no more than that it was paid for.
  public init(
    vouchedForBy store: StoreIdentifier, in environment: StoreEnvironment, id: TransactionIdentifier,
    originalID: TransactionIdentifier, product: ProductIdentifier, purchaseDate: Timestamp,
    expiresDate: Timestamp? = nil, graceExpiresDate: Timestamp? = nil, billingRetryEndDate: Timestamp? = nil,
    revokedDate: Timestamp? = nil, licenseEndDate: Timestamp? = nil, licenseAsOf: Timestamp? = nil,
    quantity: Int = 1, price: Price? = nil, account: ApplicationAccount? = nil,
    application: ApplicationIdentifier? = nil,
    territory: Territory? = nil, acknowledgement: Acknowledgement? = nil,
    origin: ApplicationOrigin? = nil, asOf: Timestamp? = nil, tellsRefunds: Bool = true
  ) {
    self.store = store
    self.environment = environment
    self.id = id
    self.originalID = originalID
    self.product = product
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.graceExpiresDate = graceExpiresDate
    self.billingRetryEndDate = billingRetryEndDate
    self.revokedDate = revokedDate
    self.licenseEndDate = licenseEndDate
    self.quantity = quantity
    self.price = price
    self.account = account
    self.application = application
    self.territory = territory
    self.acknowledgement = acknowledgement
    self.origin = origin
    self.asOf = asOf ?? purchaseDate
    self.licenseAsOf = licenseAsOf ?? (licenseEndDate == nil ? nil : self.asOf)
    self.tellsRefunds = tellsRefunds
  }
}

extension VerifiedTransaction {
  /// The same purchase by the store's word as of another moment, which tells of refunds.
  public func revised(revokedDate: Timestamp?, asOf: Timestamp) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: originalID, product: product,
      purchaseDate: purchaseDate, expiresDate: expiresDate, graceExpiresDate: graceExpiresDate,
      billingRetryEndDate: billingRetryEndDate, revokedDate: revokedDate, licenseEndDate: licenseEndDate,
      licenseAsOf: licenseAsOf, quantity: quantity, price: price, account: account, application: application,
      territory: territory,
      acknowledgement: acknowledgement, origin: origin, asOf: asOf)
  }

  /// Whether it can be a purchase of that product: one of another application is none. Proofs of before say nothing of it.
  public func isSale(of product: Product) -> Bool {
    guard let owner = product.application, let application else { return true }
    return owner == application
  }

  /// By purchase date; of those of one date by their identifiers, then by all else that a verdict can show, so that no
  /// verdict depends on the order in which a store lists transactions.
  func precedes(_ other: VerifiedTransaction) -> Bool {
    if purchaseDate != other.purchaseDate { return purchaseDate < other.purchaseDate }
    if id != other.id { return id.description < other.id.description }
    let (left, right) = (expiresDate?.millisecondsSinceEpoch, other.expiresDate?.millisecondsSinceEpoch)
    return (store.description, environment.rawValue, left ?? .max) < (
      other.store.description, other.environment.rawValue, right ?? .max
    )
  }
}

/// Which world of a payment store a purchase was made in. Only ``production`` costs money, so which ones lead
/// to content is a decision of the operator, never of the proof.
public enum StoreEnvironment: String, Codable, Sendable, CaseIterable {
  case production = "Production"
  case sandbox = "Sandbox"
  /// Signed on a developer's own machine, by a certificate without a trusted root.
  case xcode = "Xcode"
}

public import CoreTypes

/// One purchase that a store, or a signature that leads to a trusted root, vouches for. The entitlement rules accept
/// nothing else.
public struct VerifiedTransaction: Hashable, Sendable {
  /// Histories of hundreds are grouped, sorted and handed around: a copy is one reference.
  private final class Shared: Sendable {
    let statement: Statement

    init(_ statement: Statement) {
      self.statement = statement
    }
  }

  private struct Statement: Hashable {
    let store: StoreIdentifier
    let environment: StoreEnvironment
    let id: TransactionIdentifier
    let originalID: TransactionIdentifier
    let product: ProductIdentifier
    let purchaseDate: Timestamp
    let expiresDate: Timestamp?
    let graceExpiresDate: Timestamp?
    let billingRetryEndDate: Timestamp?
    let revokedDate: Timestamp?
    let licenseEndDate: Timestamp?
    let licenseAsOf: Timestamp?
    let quantity: Int
    let price: Price?
    let account: ApplicationAccount?
    let application: ApplicationIdentifier?
    let territory: Territory?
    let acknowledgement: Acknowledgement?
    let origin: ApplicationOrigin?
    let asOf: Timestamp
    let tellsRefunds: Bool
  }

  private let shared: Shared

  /// The store that vouches for the transaction.
  public var store: StoreIdentifier { shared.statement.store }
  /// The environment of that store.
  public var environment: StoreEnvironment { shared.statement.environment }
  /// The store's name of the transaction.
  public var id: TransactionIdentifier { shared.statement.id }
  /// The first transaction of this purchase: equal to ``id`` unless this one is a renewal or a restored purchase.
  public var originalID: TransactionIdentifier { shared.statement.originalID }
  /// The product that was bought.
  public var product: ProductIdentifier { shared.statement.product }
  /// When it was paid for.
  public var purchaseDate: Timestamp { shared.statement.purchaseDate }
  /// The end of a subscription's period; the period does not contain it. Nil for what does not expire.
  public var expiresDate: Timestamp? { shared.statement.expiresDate }
  /// The end of the grace after the period, while a renewal that could not be charged is tried again. The service goes on
  /// up to it; nothing else is bought by it.
  public var graceExpiresDate: Timestamp? { shared.statement.graceExpiresDate }
  /// Up to when the store tries to charge for the next period, after which it gives up; nil where it does not try.
  public var billingRetryEndDate: Timestamp? { shared.statement.billingRetryEndDate }
  /// When the purchase was refunded or withdrawn: it then counts as never made.
  public var revokedDate: Timestamp? { shared.statement.revokedDate }
  /// The end of the license of a volume purchase that was withdrawn; nil for one that goes on, and for all else.
  public var licenseEndDate: Timestamp? { shared.statement.licenseEndDate }
  /// The moment as of which the store told of that end, or that there is none; nil where it told nothing of licenses.
  public var licenseAsOf: Timestamp? { shared.statement.licenseAsOf }
  /// How many were bought, at least 1.
  public var quantity: Int { shared.statement.quantity }
  /// The price that was paid, where the store tells it.
  public var price: Price? { shared.statement.price }
  /// The customer that the application bought it for, where it told the store.
  public var account: ApplicationAccount? { shared.statement.account }
  /// The application that sold it, where the proof tells it.
  public var application: ApplicationIdentifier? { shared.statement.application }
  /// Where it was sold, where the proof tells it.
  public var territory: Territory? { shared.statement.territory }
  /// How the store is told of the delivery; nil where it is told that the transaction is finished.
  public var acknowledgement: Acknowledgement? { shared.statement.acknowledgement }
  /// Only of the purchase of an application itself.
  public var origin: ApplicationOrigin? { shared.statement.origin }
  /// The moment up to which the store knew what it says here, by its own clock. What happened later, a refund say, is
  /// not in it.
  public var asOf: Timestamp { shared.statement.asOf }
  /// Whether the store would have told here of a refund. Where it would not, a statement without one takes back no refund that is
  /// known.
  public var tellsRefunds: Bool { shared.statement.tellsRefunds }

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
    let asOf = asOf ?? purchaseDate
    shared = Shared(
      Statement(
        store: store, environment: environment, id: id, originalID: originalID, product: product,
        purchaseDate: purchaseDate, expiresDate: expiresDate, graceExpiresDate: graceExpiresDate,
        billingRetryEndDate: billingRetryEndDate, revokedDate: revokedDate, licenseEndDate: licenseEndDate,
        licenseAsOf: licenseAsOf ?? (licenseEndDate == nil ? nil : asOf), quantity: quantity, price: price,
        account: account, application: application, territory: territory, acknowledgement: acknowledgement,
        origin: origin, asOf: asOf, tellsRefunds: tellsRefunds))
  }

  /// Whether both say the same in everything.
  public static func == (left: VerifiedTransaction, right: VerifiedTransaction) -> Bool {
    left.shared === right.shared || left.shared.statement == right.shared.statement
  }

  /// By everything that ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(shared.statement)
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
  package func precedes(_ other: VerifiedTransaction) -> Bool {
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
public enum StoreEnvironment: String, ListedWords, Sendable {
  case production = "Production"
  case sandbox = "Sandbox"
  /// Signed on a developer's own machine, by a certificate without a trusted root.
  case xcode = "Xcode"
}

public import Commerce
public import CoreTypes
public import PullboxAPI

/// One entry of a store's payment queue. It stays in the queue until it is finished.
public struct StoreTransaction: Codable, Sendable {
  /// Where a transaction stands in the payment queue.
  public enum State: String, Codable, Sendable {
    case purchasing
    case purchased
    case failed
    case restored
    case deferred
  }

  /// The store's name of the transaction.
  public var id: TransactionIdentifier
  /// The first transaction of a chain of renewals or restores; the transaction itself otherwise.
  public var originalId: TransactionIdentifier
  /// The product.
  public var product: ProductIdentifier
  /// How many were bought, 1 to 10.
  public var quantity: Int
  /// Where it stands.
  public var state: State
  /// When the purchase was paid for; when it was asked for before that.
  public var purchaseDate: Timestamp
  /// Subscriptions only: the end of what was paid for, or the moment at which another product of the group took its place.
  public var expiresDate: Timestamp?
  /// Absent while the transaction is in the queue.
  public var finishedDate: Timestamp?
  /// The device that bought it; absent when the request named none.
  public var device: DeviceIdentifier?
  /// The app's name for its user, as it was given with the purchase. The store does not interpret it. Absent when none
  /// was given.
  public var applicationUsername: String?
  /// The price of one unit, a decimal number with a point: `2.99`. Absent for a product that was free, restored or not
  /// sold.
  public var price: String?
  /// ISO 4217; goes with ``price``.
  public var currency: String?
  /// The account's territory when it was bought, ISO 3166 alpha-3.
  public var storefront: String?
  /// `Sandbox` or `Production`.
  public var environment: String?
  /// When the payment was given back, or the right to it ended. Absent while neither has happened.
  public var revocationDate: Timestamp?
  /// Why it failed.
  public var error: String?

  /// Creates the document from its members.
  public init(
    id: TransactionIdentifier, originalId: TransactionIdentifier, product: ProductIdentifier, quantity: Int,
    state: State, purchaseDate: Timestamp, expiresDate: Timestamp? = nil, finishedDate: Timestamp? = nil,
    device: DeviceIdentifier? = nil, applicationUsername: String? = nil, price: String? = nil,
    currency: String? = nil, storefront: String? = nil, environment: String? = nil,
    revocationDate: Timestamp? = nil, error: String? = nil
  ) {
    self.id = id
    self.originalId = originalId
    self.product = product
    self.quantity = quantity
    self.state = state
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.finishedDate = finishedDate
    self.device = device
    self.applicationUsername = applicationUsername
    self.price = price
    self.currency = currency
    self.storefront = storefront
    self.environment = environment
    self.revocationDate = revocationDate
    self.error = error
  }
}

/// `POST /store/v1/purchases`.
public struct PurchaseRequest: Codable, Sendable {
  /// The product to buy.
  public var product: ProductIdentifier
  /// 1 to 10; 1 when left out.
  public var quantity: Int?
  /// The app's name for its user, at most 255 bytes. The store does not interpret it. It is opaque: a name with an `@`,
  /// as in an e-mail address, is refused. Absent for none.
  public var applicationUsername: String?
  /// Whether another person must approve the purchase first; absent for no.
  public var askToBuy: Bool?
  /// The device that buys; absent where it is not to be known.
  public var device: DeviceIdentifier?
  /// Whether the customer gives contact data for the bonus of a subscription; absent for no.
  public var optIn: Bool?
  /// The price that the customer saw: at another one nothing is sold, also where the purchase is approved later. Absent where
  /// any price is taken.
  public var shown: ShownPrice?

  /// Creates the request. What is nil is left out of it.
  public init(
    product: ProductIdentifier, quantity: Int? = nil, applicationUsername: String? = nil,
    askToBuy: Bool? = nil, device: DeviceIdentifier? = nil, optIn: Bool? = nil, shown: ShownPrice? = nil
  ) {
    self.optIn = optIn
    self.shown = shown
    self.product = product
    self.quantity = quantity
    self.applicationUsername = applicationUsername
    self.askToBuy = askToBuy
    self.device = device
  }
}

/// The answer to a purchase and to `finish`.
public struct TransactionResponse: Codable, Sendable {
  /// The transaction as it stands after the request.
  public var transaction: StoreTransaction

  /// Creates the document from its members.
  public init(transaction: StoreTransaction) {
    self.transaction = transaction
  }
}

/// `GET /store/v1/transactions`.
public struct TransactionsResponse: Codable, Sendable {
  /// The transactions that were asked for, the earliest first.
  public var transactions: [StoreTransaction]
  /// Another number whenever something was sold to the account, renewed or taken back, on whatever device: then its receipt is
  /// another one. Nil while nothing was sold to it.
  public var revision: Int64?
  /// Another text whenever the answer to the same question is another one. A question that gives it back (`known`) with a time (`wait`) is
  /// answered as soon as the answer is another one. Absent of a store that does not wait.
  public var tag: String?

  /// Creates the document from its members.
  public init(transactions: [StoreTransaction], revision: Int64? = nil, tag: String? = nil) {
    self.transactions = transactions
    self.revision = revision
    self.tag = tag
  }
}

/// `GET /store/v1/receipt?device=`.
public struct ReceiptResponse: Codable, Sendable {
  /// CMS in base 64.
  public var receipt: String

  /// Creates the document from its members.
  public init(receipt: String) {
    self.receipt = receipt
  }
}

/// `POST /store/v1/transactions/{id}/purchase-token`: what proves the purchase to a delivery server that knows the store by its
/// Google-like interface.
public struct PurchaseTokenResponse: Codable, Sendable {
  /// The same each time that it is asked for.
  public var purchaseToken: String
  /// The product that was bought.
  public var product: ProductIdentifier

  /// Creates the document from its members.
  public init(purchaseToken: String, product: ProductIdentifier) {
    self.purchaseToken = purchaseToken
    self.product = product
  }
}

/// `POST /store/v1/restore`; answered with a ``TransactionsResponse`` of what was restored.
public struct RestorePurchasesRequest: Codable, Sendable {
  /// The device that the transactions are for.
  public var device: DeviceIdentifier

  /// Creates the request.
  public init(device: DeviceIdentifier) {
    self.device = device
  }
}

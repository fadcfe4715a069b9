public import Commerce
public import CoreTypes

/// One entry of a store's payment queue. It stays in the queue until it is finished.
public struct StoreTransaction: Codable, Sendable {
  public enum State: String, Codable, Sendable {
    case purchasing
    case purchased
    case failed
    case restored
    case deferred
  }

  public var id: TransactionIdentifier
  public var originalId: TransactionIdentifier
  public var product: ProductIdentifier
  public var quantity: Int
  public var state: State
  public var purchaseDate: Timestamp
  /// Subscriptions only.
  public var expiresDate: Timestamp?
  /// Absent while the transaction is in the queue.
  public var finishedDate: Timestamp?
  public var device: DeviceIdentifier?
  public var applicationUsername: String?
  /// Why it failed.
  public var error: String?

  public init(
    id: TransactionIdentifier, originalId: TransactionIdentifier, product: ProductIdentifier, quantity: Int,
    state: State, purchaseDate: Timestamp, expiresDate: Timestamp? = nil, finishedDate: Timestamp? = nil,
    device: DeviceIdentifier? = nil, applicationUsername: String? = nil, error: String? = nil
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
    self.error = error
  }
}

/// `POST /store/v1/purchases`.
public struct PurchaseRequest: Codable, Sendable {
  public var product: ProductIdentifier
  /// 1 to 10; 1 when left out.
  public var quantity: Int?
  public var applicationUsername: String?
  public var askToBuy: Bool?
  public var device: DeviceIdentifier?

  public init(
    product: ProductIdentifier, quantity: Int? = nil, applicationUsername: String? = nil,
    askToBuy: Bool? = nil, device: DeviceIdentifier? = nil
  ) {
    self.product = product
    self.quantity = quantity
    self.applicationUsername = applicationUsername
    self.askToBuy = askToBuy
    self.device = device
  }
}

/// The answer to a purchase and to `finish`.
public struct TransactionResponse: Codable, Sendable {
  public var transaction: StoreTransaction

  public init(transaction: StoreTransaction) {
    self.transaction = transaction
  }
}

/// `GET /store/v1/transactions`.
public struct TransactionsResponse: Codable, Sendable {
  public var transactions: [StoreTransaction]

  public init(transactions: [StoreTransaction]) {
    self.transactions = transactions
  }
}

/// `GET /store/v1/receipt?device=`.
public struct ReceiptResponse: Codable, Sendable {
  /// CMS in base 64.
  public var receipt: String

  public init(receipt: String) {
    self.receipt = receipt
  }
}

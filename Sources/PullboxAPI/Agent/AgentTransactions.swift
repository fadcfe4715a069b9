public import Commerce
public import CoreTypes

/// A transaction of the store's queue as the agent sees it.
public struct AgentTransaction: Codable, Hashable, Sendable {
  /// The store's name of the transaction.
  public var id: TransactionIdentifier
  /// The product that was bought.
  public var product: ProductIdentifier
  /// The store's word: `purchasing`, `purchased`, `failed`, …; `revoked` once the delivery server has told that it was taken back.
  public var state: String
  /// The agent's own step: `observed`, `delivering`, `finished`, …
  public var step: String
  /// Why it waits or failed, as a word such as `store-unreachable`; absent when there is nothing to say.
  public var reason: String?
  /// The problem that a service answered; absent unless a service refused.
  public var error: Problem?
  /// Those that it pays for.
  public var downloads: [DownloadIdentifier]
  /// While it waits: when a service is asked again at the earliest; absent otherwise.
  public var notBefore: Timestamp?
  /// The last error, in a line for people; absent when there was none.
  public var cause: String?
  /// The title of the product that was bought; absent until the agent knows it.
  public var title: String?
  /// The app that bought it; absent where none named itself.
  public var session: SessionName?
  /// When the agent heard that it was taken back; absent for one that counts.
  public var revoked: Timestamp?

  /// Creates the document from its members.
  public init(
    id: TransactionIdentifier, product: ProductIdentifier, state: String, step: String, reason: String?,
    error: Problem?, downloads: [DownloadIdentifier], notBefore: Timestamp? = nil, cause: String? = nil,
    title: String? = nil, session: SessionName? = nil, revoked: Timestamp? = nil
  ) {
    self.revoked = revoked
    self.id = id
    self.product = product
    self.state = state
    self.step = step
    self.reason = reason
    self.error = error
    self.downloads = downloads
    self.notBefore = notBefore
    self.cause = cause
    self.title = title
    self.session = session
  }
}

/// `GET /v1/transactions?state=&session=&after=&limit=` of the agent.
public struct AgentTransactionsResponse: Codable, Sendable {
  /// The transactions of this page, by identifier.
  public var transactions: [AgentTransaction]
  /// The `after` of the next page's request; absent on the last page.
  public var next: String?

  /// Creates the document from its members.
  public init(transactions: [AgentTransaction], next: String? = nil) {
    self.transactions = transactions
    self.next = next
  }
}

/// `POST /v1/purchases` of the agent.
public struct AgentPurchaseRequest: Codable, Sendable {
  /// The product to buy.
  public var product: ProductIdentifier
  /// 1 to 10; the store takes 1 when it is absent.
  public var quantity: Int?
  /// The app's name for its user, the `applicationUsername` of the store; absent for none.
  public var applicationUsername: String?
  /// The price that the buyer saw. If the price is another by now, nothing is bought (`price-changed`). Absent: any price
  /// is paid.
  public var shown: ShownPrice?
  /// Whether the buyer gives the store contact data, for the bonus of a subscription; absent for no.
  public var optIn: Bool?
  /// The app that buys: the transaction and its downloads bear its name. The store is not told. Absent for none.
  public var session: SessionName?
  /// The conditions of the machine that its downloads pass, of ``MachineConditionName/ignorable``; absent for none.
  public var ignore: [MachineConditionName]?

  /// Creates the request. What is nil is left out of it.
  public init(
    product: ProductIdentifier, quantity: Int? = nil, applicationUsername: String? = nil,
    shown: ShownPrice? = nil, optIn: Bool? = nil, session: SessionName? = nil,
    ignore: [MachineConditionName]? = nil
  ) {
    self.session = session
    self.ignore = ignore
    self.optIn = optIn
    self.product = product
    self.quantity = quantity
    self.applicationUsername = applicationUsername
    self.shown = shown
  }
}

/// `POST /v1/codes/{code}` of the agent: how the content of a code is fetched. Without members it is fetched as a purchase of no app.
public struct AgentRedeemRequest: Codable, Hashable, Sendable {
  /// The app that redeems: the transaction and its downloads bear its name. The store is not told. Absent for none.
  public var session: SessionName?
  /// The conditions of the machine that its downloads pass, of ``MachineConditionName/ignorable``; absent for none.
  public var ignore: [MachineConditionName]?

  /// Creates the request. What is nil is left out of it.
  public init(session: SessionName? = nil, ignore: [MachineConditionName]? = nil) {
    self.session = session
    self.ignore = ignore
  }
}

/// `POST /v1/restore` of the agent: what is to be fetched of what is owned. Without members it is all of it.
public struct AgentRestoreRequest: Codable, Hashable, Sendable {
  /// The order in which downloads are begun.
  public enum Order: String, ListedWords, Sendable {
    /// The latest publication date first.
    case newest
    /// The fewest bytes first.
    case smallest
  }

  /// Only these; each has to be owned. Absent: all.
  public var products: [ProductIdentifier]?
  /// The service's own order when it is absent.
  public var order: Order?
  /// At most so many downloads are begun, the first by ``order``: 1 or more.
  public var limit: Int?
  /// The app whose downloads begin; absent for none.
  public var session: SessionName?
  /// The conditions of the machine that the downloads pass, of ``MachineConditionName/ignorable``, also those of wanted products that are
  /// under way already; absent for none.
  public var ignore: [MachineConditionName]?

  /// Creates the request. What is nil is left out of it.
  public init(
    products: [ProductIdentifier]? = nil, order: Order? = nil, limit: Int? = nil,
    session: SessionName? = nil, ignore: [MachineConditionName]? = nil
  ) {
    self.products = products
    self.order = order
    self.limit = limit
    self.session = session
    self.ignore = ignore
  }
}

extension [EntitledProduct] {
  /// In the order in which their downloads begin. Equal ones stay in the server's order; what has no date comes last among the
  /// newest.
  public func ordered(by order: AgentRestoreRequest.Order?) -> [EntitledProduct] {
    let places = enumerated()
    return switch order {
    case nil: self
    case .smallest:
      places.sorted { ($0.element.length, $0.offset) < ($1.element.length, $1.offset) }.map(\.element)
    case .newest:
      places.sorted { left, right in
        let dates = (left.element.publicationDate, right.element.publicationDate)
        switch dates {
        case (let one?, let other?) where one != other: return one > other
        case (.some, nil): return true
        case (nil, .some): return false
        default: return left.offset < right.offset
        }
      }.map(\.element)
    }
  }
}

/// The answer to the agent's `POST /v1/restore`: what is being fetched now. `GET /v1/restore` answers an
/// ``EntitlementsResponse``: the plan.
public struct AgentRestoreResponse: Codable, Hashable, Sendable {
  /// The products that are being fetched; empty when the library has everything.
  public var products: [ProductIdentifier]

  /// Creates the document from its members.
  public init(products: [ProductIdentifier]) {
    self.products = products
  }
}

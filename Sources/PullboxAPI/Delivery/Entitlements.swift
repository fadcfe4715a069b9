public import Commerce
public import CoreTypes

/// Everything a proof owns that has released content: the plan for a restore. A product that several transactions pay
/// for has an entry for each, the strongest first: each transaction is finished only when all it pays for is delivered.
public struct EntitlementsResponse: Codable, Sendable {
  /// The products, each with its newest released version.
  public var products: [EntitledProduct]
  /// Those of the transactions named as `waiting` that open nothing more. The store has been told, or is being
  /// told, that they are finished. Absent where none waits.
  public var settled: [TransactionIdentifier]?
  /// Where the device learns what becomes of them; of several stores the first one's. Absent from servers that have no feeds.
  public var feed: FeedReference?
  /// Each store's feed, by its name; only in answers to several proofs.
  public var feeds: [String: FeedReference]?
  /// Which of several proofs led to nothing, and why, in their order; absent where all are good.
  public var problems: [ProofRefusal]?
  /// False where the customer has as many devices as the store's `deviceLimit` allows, and the one that asks is none of them: what
  /// it would buy it could not fetch. Absent from servers that do not tell.
  public var hasPlace: Bool?
  /// Until when each subscription is paid for that the proofs own now, by its product; one without an end is left out. Absent where
  /// there is none. Stores do not tell it of subscriptions that do not renew.
  public var subscribedUntil: [String: Timestamp]?
  /// Since when each subscription runs without a lapse that the proofs own now, by its product: `GET /v1/products` takes it, for the
  /// prices that are preserved for those who subscribed before they changed. Absent where there is none.
  public var subscribedSince: [String: Timestamp]?

  /// Creates the document from its members.
  public init(
    products: [EntitledProduct], settled: [TransactionIdentifier]? = nil, feed: FeedReference? = nil,
    feeds: [String: FeedReference]? = nil, problems: [ProofRefusal]? = nil, hasPlace: Bool? = nil,
    subscribedUntil: [String: Timestamp]? = nil, subscribedSince: [String: Timestamp]? = nil
  ) {
    self.subscribedSince = subscribedSince
    self.subscribedUntil = subscribedUntil
    self.products = products
    self.settled = settled
    self.feed = feed
    self.feeds = feeds
    self.problems = problems
    self.hasPlace = hasPlace
  }
}

extension EntitlementsResponse: SelfWritten {
  package func write(to object: inout JSONObjectWriter) throws {
    if let feed { try object.set("feed", to: feed) }
    try object.set("feeds", encoding: feeds)
    if let hasPlace { object.set("hasPlace", to: hasPlace) }
    try object.set("problems", encoding: problems)
    try object.set("products", to: products)
    try object.set("settled", encoding: settled)
    try object.set("subscribedSince", encoding: subscribedSince)
    try object.set("subscribedUntil", encoding: subscribedUntil)
  }
}

/// One product that a proof owns.
public struct EntitledProduct: Codable, Sendable {
  /// The product.
  public var product: ProductIdentifier
  /// The content version.
  public var version: ContentVersion
  /// Bytes of the package.
  public var length: ByteCount
  /// Why it is owned: one of the rules of docs/entitlements.md, such as `purchased` or `published-during-subscription`.
  public var because: String
  /// The transaction that pays for it; it is finished when all that it pays for has been completed.
  public var transaction: TransactionIdentifier
  /// The state of this device's grant, `not-granted` before there is one.
  public var state: String
  /// When the issue appeared; absent where the product has no such date, and from servers that do not tell.
  public var publicationDate: Timestamp?
  /// When it is owned no more unless something is paid for again, as a subscription is; absent for what stays owned, and from
  /// servers that do not tell.
  public var until: Timestamp?
  /// The store of the transaction; absent from servers that do not tell.
  public var store: String?
  /// Whether it is a consumable, which no license lists; absent from servers that do not tell.
  public var consumable: Bool?

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, version: ContentVersion, length: ByteCount, because: String,
    transaction: TransactionIdentifier, state: String, publicationDate: Timestamp? = nil,
    until: Timestamp? = nil, store: String? = nil, consumable: Bool? = nil
  ) {
    self.consumable = consumable
    self.store = store
    self.product = product
    self.version = version
    self.length = length
    self.because = because
    self.transaction = transaction
    self.state = state
    self.publicationDate = publicationDate
    self.until = until
  }
}

extension EntitledProduct: SelfWritten {
  package func write(to object: inout JSONObjectWriter) {
    object.set("because", to: because)
    if let consumable { object.set("consumable", to: consumable) }
    object.set("length", to: length.rawValue)
    object.set("product", to: product.description)
    if let publicationDate { object.set("publicationDate", to: publicationDate.rfc3339) }
    object.set("state", to: state)
    if let store { object.set("store", to: store) }
    object.set("transaction", to: transaction.description)
    if let until { object.set("until", to: until.rfc3339) }
    object.set("version", to: version.description)
  }
}

public import Commerce
public import PullboxAPI

/// The other body of `POST /v1/grants`: asks for the content of several products of one proof, each in its newest
/// released version and for the strongest transaction that pays for it.
///
/// ```json
/// {"device":{"id":"reader-1"},"products":["com.example.issue-7","com.example.issue-8"],"receipt":"MIIT…"}
/// ```
///
/// The answer is a ``GrantBatchResponse``: 201 when one of the grants is new, else 200.
public struct GrantBatchRequest: Codable, Sendable {
  /// Products of one request: 1 to 200, none of them twice.
  public static let productCounts = 1...200

  /// The proofs that the products were bought.
  public var proofs: ProofList
  /// The products.
  public var products: [ProductIdentifier]
  /// The device that the content is for.
  public var device: Device
  /// The customer's consent; absent where it stays as it was.
  public var consent: Consent?
  /// Whom the application asks for; as in ``GrantRequest``.
  public var account: ApplicationAccount?

  /// Creates the request.
  public init(
    proof: Proof, products: [ProductIdentifier], device: Device, consent: Consent? = nil,
    account: ApplicationAccount? = nil
  ) {
    self.proofs = ProofList(proof)
    self.products = products
    self.device = device
    self.consent = consent
    self.account = account
  }

  private enum CodingKeys: CodingKey {
    case products
    case device
    case consent
    case account
  }

  /// Reads the proof's members from the same object as the others. Throws `DecodingError`, also for a number of
  /// products outside ``productCounts``, and for one that stands twice.
  public init(from decoder: any Decoder) throws {
    proofs = try ProofList(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    products = try container.decode([ProductIdentifier].self, forKey: .products)
    device = try container.decode(Device.self, forKey: .device)
    consent = try container.decodeIfPresent(Consent.self, forKey: .consent)
    account = try container.decodeIfPresent(ApplicationAccount.self, forKey: .account)
    guard Self.productCounts.contains(products.count), Set(products).count == products.count else {
      throw DecodingError.dataCorruptedError(
        forKey: .products, in: container, debugDescription: "not 1 to 200 products, each once")
    }
  }

  /// Writes the proof's members into the same object as the others.
  public func encode(to encoder: any Encoder) throws {
    try proofs.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(products, forKey: .products)
    try container.encode(device, forKey: .device)
    try container.encodeIfPresent(consent, forKey: .consent)
    try container.encodeIfPresent(account, forKey: .account)
  }
}

/// Either body of `POST /v1/grants`, told apart by `product` and `products`.
public enum GrantsRequest: Decodable, Sendable {
  case one(GrantRequest)
  case many(GrantBatchRequest)

  /// The device that the content is for.
  public var device: Device {
    switch self {
    case .one(let request): request.device
    case .many(let request): request.device
    }
  }

  /// The proofs that the product, or the products, were bought.
  public var proofs: ProofList {
    switch self {
    case .one(let request): request.proofs
    case .many(let request): request.proofs
    }
  }

  private enum CodingKeys: CodingKey {
    case product
    case products
    case version
    case transaction
  }

  /// Throws `DecodingError`, also where `products` stands beside a member that is about one product.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard container.contains(.products) else {
      self = .one(try GrantRequest(from: decoder))
      return
    }
    for key in [CodingKeys.product, .version, .transaction] where container.contains(key) {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: container, debugDescription: "it cannot stand beside products")
    }
    self = .many(try GrantBatchRequest(from: decoder))
  }
}

/// The answer to `POST /v1/grants` with several products: each of them is in one of the two lists, in the order of the
/// request.
public struct GrantBatchResponse: Codable, Sendable {
  /// Why one product is not granted: a `Problem` with the product beside its members.
  public struct Refusal: Codable, Sendable {
    /// The product.
    public var product: ProductIdentifier
    /// The problem that a request for this product alone would have been refused with.
    public var problem: Problem

    /// Creates the refusal of one product.
    public init(product: ProductIdentifier, problem: Problem) {
      self.product = product
      self.problem = problem
    }

    private enum CodingKeys: CodingKey {
      case product
    }

    /// Reads the problem's members from the same object as the product. Throws `DecodingError`.
    public init(from decoder: any Decoder) throws {
      problem = try Problem(from: decoder)
      product = try decoder.container(keyedBy: CodingKeys.self).decode(
        ProductIdentifier.self, forKey: .product)
    }

    /// Writes the problem's members into the same object as the product.
    public func encode(to encoder: any Encoder) throws {
      try problem.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(product, forKey: .product)
    }
  }

  /// The grants, each as the answer to a request for its product alone.
  public var grants: [GrantResponse]
  /// The products that are not granted.
  public var problems: [Refusal]
  /// Where the device learns what becomes of what it owns; absent from servers that have no feeds.
  public var feed: FeedReference?

  /// Creates the document from its members.
  public init(grants: [GrantResponse] = [], problems: [Refusal] = [], feed: FeedReference? = nil) {
    self.grants = grants
    self.problems = problems
    self.feed = feed
  }
}

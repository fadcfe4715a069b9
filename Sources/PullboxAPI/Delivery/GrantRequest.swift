public import Commerce

/// `POST /v1/grants`: a ``Proof``'s members, the product, the device, and a version where not the latest is wanted. Where
/// several transactions of the proof pay for the product, `transaction` says which one the grant is for; without it the
/// server takes the strongest.
public struct GrantRequest: Codable, Sendable {
  public var proof: Proof
  public var product: ProductIdentifier
  public var device: Device
  public var version: ContentVersion?
  public var transaction: TransactionIdentifier?

  public init(
    proof: Proof, product: ProductIdentifier, device: Device, version: ContentVersion? = nil,
    transaction: TransactionIdentifier? = nil
  ) {
    self.transaction = transaction
    self.proof = proof
    self.product = product
    self.device = device
    self.version = version
  }

  private enum CodingKeys: CodingKey {
    case product
    case device
    case version
    case transaction
  }

  public init(from decoder: any Decoder) throws {
    proof = try Proof(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    product = try container.decode(ProductIdentifier.self, forKey: .product)
    device = try container.decode(Device.self, forKey: .device)
    version = try container.decodeIfPresent(ContentVersion.self, forKey: .version)
    transaction = try container.decodeIfPresent(TransactionIdentifier.self, forKey: .transaction)
  }

  public func encode(to encoder: any Encoder) throws {
    try proof.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(product, forKey: .product)
    try container.encode(device, forKey: .device)
    try container.encodeIfPresent(version, forKey: .version)
    try container.encodeIfPresent(transaction, forKey: .transaction)
  }
}

public import Commerce
public import CoreTypes

/// `POST /v1/entitlements`: a ``Proof``'s members and the device.
public struct EntitlementsRequest: Codable, Sendable {
  public var proof: Proof
  public var device: Device

  public init(proof: Proof, device: Device) {
    self.proof = proof
    self.device = device
  }

  private enum CodingKeys: CodingKey {
    case device
  }

  public init(from decoder: any Decoder) throws {
    proof = try Proof(from: decoder)
    device = try decoder.container(keyedBy: CodingKeys.self).decode(Device.self, forKey: .device)
  }

  public func encode(to encoder: any Encoder) throws {
    try proof.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(device, forKey: .device)
  }
}

/// Everything a proof owns that has released content: the plan for a restore. A product that several transactions pay
/// for has an entry for each, the strongest first: each transaction is finished only when all it pays for is delivered.
public struct EntitlementsResponse: Codable, Sendable {
  public var products: [EntitledProduct]

  public init(products: [EntitledProduct]) {
    self.products = products
  }
}

/// One product that a proof owns.
public struct EntitledProduct: Codable, Sendable {
  public var product: ProductIdentifier
  public var version: ContentVersion
  public var length: ByteCount
  /// Why it is owned: `purchased`, `published-during-subscription`, `unlocked-at-start`.
  public var because: String
  /// The transaction that pays for it; it is finished when all that it pays for has been completed.
  public var transaction: TransactionIdentifier
  /// The state of this device's grant, `not-granted` before there is one.
  public var state: String

  public init(
    product: ProductIdentifier, version: ContentVersion, length: ByteCount, because: String,
    transaction: TransactionIdentifier, state: String
  ) {
    self.product = product
    self.version = version
    self.length = length
    self.because = because
    self.transaction = transaction
    self.state = state
  }
}

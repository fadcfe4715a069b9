public import Commerce
public import PullboxAPI

/// `POST /v1/entitlements`: a ``ProofList``'s members and the device.
public struct EntitlementsRequest: Codable, Sendable {
  /// The proofs of the purchases.
  public var proofs: ProofList
  /// The device that asks.
  public var device: Device
  /// Transactions that the device brings to their end, the first 1,000 of which count: a period of a subscription among them
  /// that is over and opened nothing is finished at its store. Absent where nothing is to change.
  public var waiting: [TransactionIdentifier]?

  /// Creates the document from its members.
  public init(proof: Proof, device: Device, waiting: [TransactionIdentifier]? = nil) {
    self.proofs = ProofList(proof)
    self.device = device
    self.waiting = waiting
  }

  private enum CodingKeys: CodingKey {
    case device
    case waiting
  }

  /// Reads the proof's members from the same object as the others. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    proofs = try ProofList(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    device = try container.decode(Device.self, forKey: .device)
    waiting = try container.decodeIfPresent([TransactionIdentifier].self, forKey: .waiting)
  }

  /// Writes the proof's members into the same object as the others.
  public func encode(to encoder: any Encoder) throws {
    try proofs.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(device, forKey: .device)
    try container.encodeIfPresent(waiting, forKey: .waiting)
  }
}

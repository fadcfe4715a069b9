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

public import Commerce
public import Crypto

/// The device a grant is for.
public struct Device: Codable, Hashable, Sendable {
  /// The device's own name.
  public var id: DeviceIdentifier
  /// Completions, renewals and questions about the grant must be signed with it once it was given (Ed25519, 32 bytes in
  /// base64url).
  public var publicKey: VerificationKey?

  /// Creates the device. Without a key its grants are renewed by the secret that comes with them.
  public init(id: DeviceIdentifier, publicKey: VerificationKey? = nil) {
    self.id = id
    self.publicKey = publicKey
  }
}

extension Device {
  /// Line ends in the key's base 64 are passed over. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(id: try container.decode(DeviceIdentifier.self, forKey: .id))
    guard let text = try container.decodeIfPresent(String.self, forKey: .publicKey) else { return }
    guard let key = VerificationKey(text: Base64.withoutLineEnds(text)) else {
      throw DecodingError.dataCorruptedError(
        forKey: .publicKey, in: container, debugDescription: "not 32 bytes in base64url")
    }
    publicKey = key
  }
}

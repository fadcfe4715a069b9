public import Commerce
public import Crypto

/// The device a grant is for.
public struct Device: Codable, Hashable, Sendable {
  public var id: DeviceIdentifier
  /// Completions must be signed with it once it was given (Ed25519, 32 bytes in base64url).
  public var publicKey: VerificationKey?

  public init(id: DeviceIdentifier, publicKey: VerificationKey? = nil) {
    self.id = id
    self.publicKey = publicKey
  }
}

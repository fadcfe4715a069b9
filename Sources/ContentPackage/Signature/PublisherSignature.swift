public import Commerce
public import Crypto

/// A publisher's Ed25519 signature of a manifest, which travels beside it. What it says is not to be believed before
/// ``SignaturePolicy`` has judged it.
public struct PublisherSignature: Hashable, Sendable, Codable {
  /// The key's name, the SHA-256 of the public key.
  public var keyId: PublisherKeyIdentifier
  /// The key whose signature it claims to be.
  public var publicKey: VerificationKey
  /// 64 bytes in base64url.
  public var value: String

  /// Signatures of one manifest, at most: an old and a new key at once, and room to spare.
  public static let maximumCount = 4

  /// The prefix that is signed in front of a manifest's canonical bytes. It keeps a signature of anything
  /// else from being valid for a manifest, and the reverse. A canonical document starts with `{`, never with
  /// this.
  static let context = Array("pullbox publisher signature of pullbox-manifest/1\u{0}".utf8)

  /// Takes a signature as it was sent; ``isValid(for:)`` judges it.
  public init(keyId: PublisherKeyIdentifier, publicKey: VerificationKey, value: String) {
    self.keyId = keyId
    self.publicKey = publicKey
    self.value = value
  }

  /// Signs a manifest's canonical bytes.
  public init(signing manifest: [UInt8], with key: SigningKey) {
    publicKey = key.verificationKey
    keyId = publicKey.publisherKeyIdentifier
    value = Base64.encode(key.sign(Self.context + manifest), .url)
  }

  /// Whether the key has that name and made this signature of these very bytes.
  public func isValid(for manifest: [UInt8]) -> Bool {
    guard publicKey.publisherKeyIdentifier == keyId, let bytes = Base64.decode(value, .url) else {
      return false
    }
    return publicKey.isValid(signature: bytes, for: Self.context + manifest)
  }
}

extension VerificationKey {
  /// The name by which products and devices know this key.
  public var publisherKeyIdentifier: PublisherKeyIdentifier {
    guard let identifier = PublisherKeyIdentifier(SHA256Digest.of(bytes).hexadecimal) else {
      preconditionFailure("a SHA-256 has 64 digits")
    }
    return identifier
  }
}

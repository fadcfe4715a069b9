/// Keys as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them (RFC 8410): one fixed prefix, then
/// the 32 bytes.
extension SigningKey {
  /// PKCS #8, `-----BEGIN PRIVATE KEY-----`. Secret.
  public var pem: String { PEMDocument.text(SigningKey.prefix + seed, label: SigningKey.label) }

  /// Nil unless `pem` is one Ed25519 private key in that form.
  public convenience init?(pem: String) {
    guard let bytes = PEMDocument.bytes(of: pem, label: SigningKey.label, prefix: SigningKey.prefix) else {
      return nil
    }
    self.init(seed: bytes)
  }

  private static let label = "PRIVATE KEY"
  private static let prefix: [UInt8] = [
    0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
  ]
}

extension VerificationKey {
  /// SubjectPublicKeyInfo, `-----BEGIN PUBLIC KEY-----`.
  public var pem: String { PEMDocument.text(Self.prefix + bytes, label: "PUBLIC KEY") }

  private static let prefix: [UInt8] = [
    0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00,
  ]
}

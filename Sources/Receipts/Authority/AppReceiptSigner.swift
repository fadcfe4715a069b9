import COpenSSL
import Crypto

/// Signs receipts the way stores do: CMS SignedData in DER, SHA-256 and RSA directly over the payload (no signed
/// attributes), the whole chain embedded.
public struct AppReceiptSigner: Sendable {
  private let key: PrivateKey
  /// The signing certificate first.
  private let chain: [Certificate]

  init(key: PrivateKey, chain: [Certificate]) {
    self.key = key
    self.chain = chain
  }

  /// The CMS message. Throws ``ReceiptError`` `signingFailed`.
  public func sign(_ receipt: AppReceipt) throws -> [UInt8] {
    try sign(payload: receipt.encodedPayload)
  }

  /// ``sign(_:)`` in base 64.
  public func signBase64(_ receipt: AppReceipt) throws -> String {
    Base64.encode(try sign(receipt))
  }

  func sign(payload: [UInt8]) throws -> [UInt8] {
    LibcryptoErrors.clear()
    guard let leaf = chain.first else { throw ReceiptError(.signingFailed, "there is no certificate") }
    let flags = UInt32(bitPattern: CMS_BINARY | CMS_NOATTR | CMS_PARTIAL)
    guard let message = unsafe CMS_sign(nil, nil, nil, nil, flags) else { throw Self.failure() }
    defer { unsafe CMS_ContentInfo_free(message) }
    let leafCertificate = try X509Certificate(der: leaf.der)
    guard unsafe CMS_add1_signer(message, leafCertificate.handle, key.handle, EVP_sha256(), flags) != nil
    else { throw Self.failure() }
    for certificate in chain.dropFirst() {
      let parsed = try X509Certificate(der: certificate.der)
      guard unsafe CMS_add1_cert(message, parsed.handle) == 1 else { throw Self.failure() }
    }
    let content = try MemoryStream.holding(payload)
    guard unsafe CMS_final(message, content.handle, nil, flags) == 1,
      let encoded = unsafe DERCoding.encode({ unsafe i2d_CMS_ContentInfo(message, $0) })
    else { throw Self.failure() }
    return encoded
  }

  private static func failure() -> ReceiptError {
    ReceiptError(.signingFailed, "the receipt cannot be signed: \(LibcryptoErrors.drain())")
  }
}

extension AppReceiptSigner: CustomStringConvertible {
  /// Says only what it is: the key stays out of logs.
  public var description: String { "receipt signer" }
}

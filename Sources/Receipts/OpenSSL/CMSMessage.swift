import COpenSSL

/// Owner of a CMS_ContentInfo. Checking a signature changes the object, so it never leaves the function that made it.
@safe
struct CMSMessage: ~Copyable {
  private let handle: OpaquePointer

  private init(encoded: [UInt8]) throws {
    LibcryptoErrors.clear()
    guard
      let handle = unsafe DERCoding.decode(
        encoded, with: { unsafe d2i_CMS_ContentInfo(nil, $0, $1) }, free: { unsafe CMS_ContentInfo_free($0) })
    else { throw ReceiptError.malformed("the receipt is no CMS message: \(LibcryptoErrors.drain())") }
    unsafe self.handle = handle
  }

  /// Reads DER and BER, content in several pieces included. Throws ``ReceiptError`` `malformed` unless `encoded` is
  /// exactly one CMS message of data with one signer.
  static func parse(_ encoded: [UInt8]) throws -> CMSMessage {
    let message = try CMSMessage(encoded: encoded)
    guard unsafe OBJ_obj2nid(CMS_get0_type(message.handle)) == NID_pkcs7_signed,
      unsafe OBJ_obj2nid(CMS_get0_eContentType(message.handle)) == NID_pkcs7_data,
      unsafe OPENSSL_sk_num(CMS_get0_SignerInfos(message.handle)) == 1
    else { throw ReceiptError.malformed("the receipt is no CMS data with one signature") }
    return message
  }

  deinit {
    unsafe CMS_ContentInfo_free(handle)
  }

  /// The signed octets. Throws ``ReceiptError`` `malformed` when there are none.
  func content() throws -> [UInt8] {
    guard let slot = unsafe CMS_get0_content(handle), let string = unsafe slot.pointee,
      let start = unsafe ASN1_STRING_get0_data(string)
    else { throw ReceiptError.malformed("the receipt has no content") }
    return unsafe Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(string))))
  }

  /// Checks the signature over the content with the key of the certificate it names, whatever that is. Throws
  /// ``ReceiptError`` `signatureInvalid`.
  func checkSignature() throws {
    LibcryptoErrors.clear()
    let flags = UInt32(bitPattern: CMS_BINARY | CMS_NO_SIGNER_CERT_VERIFY)
    guard unsafe CMS_verify(handle, nil, nil, nil, nil, flags) == 1 else {
      throw ReceiptError(
        .signatureInvalid, "the signature does not fit the receipt: \(LibcryptoErrors.drain())")
    }
  }

  /// Hands out the signer's certificate and digest algorithm, both borrowed. Only after ``checkSignature()``.
  func withSigner<Result: ~Copyable>(
    _ body: (_ certificate: OpaquePointer, _ digestAlgorithm: Int32) throws -> Result
  ) throws -> Result {
    let signer = unsafe OpaquePointer(OPENSSL_sk_value(CMS_get0_SignerInfos(handle), 0))
    var certificate: OpaquePointer?
    var digest: UnsafeMutablePointer<X509_ALGOR>?
    unsafe CMS_SignerInfo_get0_algs(signer, nil, &certificate, &digest, nil)
    guard let certificate = unsafe certificate, let digest = unsafe digest else {
      throw ReceiptError(.signatureInvalid, "the receipt does not hold its signing certificate")
    }
    return unsafe try body(certificate, OBJ_obj2nid(digest.pointee.algorithm))
  }

  /// Whether the signer names its certificate's issuer octet by octet. libcrypto finds the certificate by a looser
  /// comparison, which does not tell upper from lower case.
  func namesIssuerExactly(of certificate: OpaquePointer) -> Bool {
    let signer = unsafe OpaquePointer(OPENSSL_sk_value(CMS_get0_SignerInfos(handle), 0))
    var named: OpaquePointer?
    guard unsafe CMS_SignerInfo_get0_signer_id(signer, nil, &named, nil) == 1, let named = unsafe named else {
      return false
    }
    let issuer = unsafe X509_get_issuer_name(certificate)
    let written = unsafe DERCoding.encode { unsafe i2d_X509_NAME(named, $0) }
    let expected = unsafe DERCoding.encode { unsafe i2d_X509_NAME(issuer, $0) }
    return written != nil && written == expected
  }

  func certificates() throws -> CertificateStack {
    unsafe try CertificateStack(takingOwnershipOf: CMS_get1_certs(handle))
  }
}

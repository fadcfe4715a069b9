import COpenSSL
public import CoreTypes

/// The messages by which issuers tell whether a certificate still counts (RFC 6960), as octets.
enum RevocationMessages {
  /// Requests are read up to so many bytes and questions.
  private static let maximumLength = 4096
  private static let maximumCount: Int32 = 8
  /// How far two clocks may differ.
  private static let tolerance: Duration = .seconds(60)

  /// A question about one certificate, named by SHA-256, without a nonce. Throws ``ReceiptError`` `malformed`.
  static func request(about certificate: Certificate, from issuer: Certificate) throws -> [UInt8] {
    LibcryptoErrors.clear()
    let subject = try X509Certificate(der: certificate.der)
    let issuer = try X509Certificate(der: issuer.der)
    let request = unsafe OCSP_REQUEST_new()
    defer { unsafe OCSP_REQUEST_free(request) }
    guard let identifier = unsafe OCSP_cert_to_id(EVP_sha256(), subject.handle, issuer.handle) else {
      throw failure("no question can be asked about the certificate")
    }
    guard unsafe OCSP_request_add0_id(request, identifier) != nil else {
      unsafe OCSP_CERTID_free(identifier)
      throw failure("no question can be asked about the certificate")
    }
    guard let encoded = unsafe DERCoding.encode({ unsafe i2d_OCSP_REQUEST(request, $0) }) else {
      throw failure("the question cannot be written")
    }
    return encoded
  }

  /// Returns the verdict of `response` about a certificate at `moment`. It counts only where the
  /// certificate's issuer vouches for it, or a responder that the issuer appointed.
  static func verdict(
    of response: [UInt8], about certificate: Certificate, from issuer: Certificate,
    trusting root: Certificate, at moment: Timestamp
  ) throws -> RevocationVerdict {
    LibcryptoErrors.clear()
    guard
      let message = unsafe DERCoding.decode(
        response, with: { unsafe d2i_OCSP_RESPONSE(nil, $0, $1) }, free: { unsafe OCSP_RESPONSE_free($0) })
    else { return .undetermined("the responder's answer is not readable") }
    defer { unsafe OCSP_RESPONSE_free(message) }
    guard unsafe OCSP_response_status(message) == OCSP_RESPONSE_STATUS_SUCCESSFUL,
      let basic = unsafe OCSP_response_get1_basic(message)
    else { return .undetermined("the responder does not answer the question") }
    defer { unsafe OCSP_BASICRESP_free(basic) }
    let subject = try X509Certificate(der: certificate.der)
    let issuer = try X509Certificate(der: issuer.der)
    let store = try TrustStore.trusting([root], at: moment, authenticationLevel: 2)
    let issuers = try unsafe CertificateStack(takingOwnershipOf: nil)
    try unsafe issuers.append(issuer.handle)
    guard unsafe OCSP_basic_verify(basic, issuers.handle, store.handle, 0) == 1 else {
      return .undetermined("the responder's signature does not count: \(LibcryptoErrors.drain())")
    }
    guard let identifier = unsafe OCSP_cert_to_id(EVP_sha256(), subject.handle, issuer.handle) else {
      throw failure("no question can be asked about the certificate")
    }
    defer { unsafe OCSP_CERTID_free(identifier) }
    var status: Int32 = -1
    var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
    var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
    guard
      unsafe OCSP_resp_find_status(basic, identifier, &status, nil, nil, &thisUpdate, &nextUpdate) == 1,
      let from = unsafe ASN1Time.timestamp(thisUpdate), let until = unsafe ASN1Time.timestamp(nextUpdate)
    else { return .undetermined("the responder does not tell of the certificate, or not until when") }
    guard from - tolerance <= moment, moment <= until + tolerance else {
      return .undetermined("the responder's answer is of another time")
    }
    switch status {
    case V_OCSP_CERTSTATUS_GOOD: return .good(until: until)
    case V_OCSP_CERTSTATUS_REVOKED: return .revoked
    default: return .undetermined("the responder does not know the certificate")
    }
  }

  /// Those that a responder answers for, with their issuer and its key.
  struct Issued {
    let certificate: Certificate
    let issuer: Certificate
    let key: PrivateKey
  }

  /// The answer to `request`, signed by the issuer of the first certificate that it asks about; of others it knows
  /// nothing. What is not readable is answered with the status for that.
  static func response(
    to request: [UInt8], about issued: [Issued], revoked: Set<CertificateSerialNumber>,
    validity: ClosedRange<Timestamp>
  ) -> [UInt8] {
    do {
      return try signedResponse(to: request, about: issued, revoked: revoked, validity: validity)
        ?? failed(OCSP_RESPONSE_STATUS_MALFORMEDREQUEST)
    } catch {
      return failed(OCSP_RESPONSE_STATUS_INTERNALERROR)
    }
  }

  /// An answer that is nothing but its status.
  private static func failed(_ status: Int32) -> [UInt8] {
    [DERTag.sequence, 3, 0x0A, 1, UInt8(truncatingIfNeeded: status)]
  }

  /// Nil when the request is not readable.
  private static func signedResponse(
    to request: [UInt8], about issued: [Issued], revoked: Set<CertificateSerialNumber>,
    validity: ClosedRange<Timestamp>
  ) throws -> [UInt8]? {
    LibcryptoErrors.clear()
    guard request.count <= maximumLength,
      let message = unsafe DERCoding.decode(
        request, with: { unsafe d2i_OCSP_REQUEST(nil, $0, $1) }, free: { unsafe OCSP_REQUEST_free($0) })
    else { return nil }
    defer { unsafe OCSP_REQUEST_free(message) }
    let count = unsafe OCSP_request_onereq_count(message)
    guard (1...maximumCount).contains(count) else { return nil }
    let basic = unsafe OCSP_BASICRESP_new()
    defer { unsafe OCSP_BASICRESP_free(basic) }
    let from = unsafe ASN1_GENERALIZEDTIME_set(nil, time_t(validity.lowerBound.secondsSinceEpoch))
    defer { unsafe ASN1_GENERALIZEDTIME_free(from) }
    let until = unsafe ASN1_GENERALIZEDTIME_set(nil, time_t(validity.upperBound.secondsSinceEpoch))
    defer { unsafe ASN1_GENERALIZEDTIME_free(until) }
    var signer: Issued?
    for index in 0..<count {
      guard let question = unsafe OCSP_request_onereq_get0(message, index),
        let identifier = unsafe OCSP_onereq_get0_id(question)
      else { return nil }
      let known = unsafe try find(identifier, among: issued)
      if signer == nil { signer = known }
      var status = V_OCSP_CERTSTATUS_UNKNOWN
      if let known, known.issuer == signer?.issuer {
        let isRevoked = try revoked.contains(known.certificate.serialNumber())
        status = isRevoked ? V_OCSP_CERTSTATUS_REVOKED : V_OCSP_CERTSTATUS_GOOD
      }
      let revocation = unsafe status == V_OCSP_CERTSTATUS_REVOKED ? from : nil
      guard
        unsafe OCSP_basic_add1_status(
          basic, identifier, status, OCSP_REVOKED_STATUS_UNSPECIFIED, revocation, from, until) != nil
      else { throw failure("the answer cannot be made") }
    }
    guard let signer = signer ?? issued.first else { return nil }
    let certificate = try X509Certificate(der: signer.issuer.der)
    unsafe OCSP_copy_nonce(basic, message)
    guard
      // By the hash of its key: a name is what Apple's library for Python does not find the signer by.
      unsafe OCSP_basic_sign(
        basic, certificate.handle, signer.key.handle, signer.key.digest, nil, UInt(OCSP_RESPID_KEY)) == 1,
      let response = unsafe OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
    else { throw failure("the answer cannot be signed") }
    defer { unsafe OCSP_RESPONSE_free(response) }
    return unsafe DERCoding.encode { unsafe i2d_OCSP_RESPONSE(response, $0) }
  }

  private static func find(_ identifier: OpaquePointer, among issued: [Issued]) throws -> Issued? {
    var algorithm: OpaquePointer?
    guard unsafe OCSP_id_get0_info(nil, &algorithm, nil, nil, identifier) == 1 else { return nil }
    let digest: OpaquePointer?
    switch unsafe OBJ_obj2nid(algorithm) {
    case NID_sha1: unsafe digest = EVP_sha1()
    case NID_sha256: unsafe digest = EVP_sha256()
    default: return nil
    }
    return try issued.first { issued in
      let subject = try X509Certificate(der: issued.certificate.der)
      let issuer = try X509Certificate(der: issued.issuer.der)
      guard let own = unsafe OCSP_cert_to_id(digest, subject.handle, issuer.handle) else { return false }
      defer { unsafe OCSP_CERTID_free(own) }
      return unsafe OCSP_id_cmp(own, identifier) == 0
    }
  }

  private static func failure(_ message: String) -> ReceiptError {
    ReceiptError(.signingFailed, "\(message): \(LibcryptoErrors.drain())")
  }
}

/// The verdict of an issuer about a certificate that it issued.
public enum RevocationVerdict: Hashable, Sendable {
  /// The certificate counts. The answer may be believed until that moment.
  case good(until: Timestamp)
  /// The certificate counts no more.
  case revoked
  /// The answer says neither, or is no readable answer. The sentence tells why.
  case undetermined(String)
}

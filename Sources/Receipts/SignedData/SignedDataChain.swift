import COpenSSL
public import CoreTypes
import Crypto
import FoundationEssentials

/// The certificates that vouch for signed data: leaf, intermediate and the configured root that they lead to. Only this
/// module makes one, of a chain that holds.
public struct SignedDataChain: Sendable {
  /// The certificate whose key signed.
  public let leaf: Certificate
  /// The leaf's issuer.
  public let intermediate: Certificate
  /// The one of the configured roots that issued the intermediate.
  public let root: Certificate
  /// When the leaf counts.
  public let leafValidity: ClosedRange<Timestamp>

  /// When all three count.
  let validity: ClosedRange<Timestamp>
  let key: ES256PublicKey
  private let responders: [String?]

  /// Returns the checks by which a caller learns whether the issuers still stand by the two certificates
  /// below the root. The check of the intermediate certificate is the first. Throws ``ReceiptError``
  /// `chainInvalid` when one of the certificates names no responder.
  public func revocationChecks() throws -> [RevocationCheck] {
    let pairs = [(intermediate, root, responders[1]), (leaf, intermediate, responders[0])]
    return try pairs.map { certificate, issuer, responder in
      guard let responder else {
        throw ReceiptError(.chainInvalid, "a certificate of the chain names no responder")
      }
      return RevocationCheck(certificate: certificate, issuer: issuer, root: root, responder: responder)
    }
  }
}

/// One question to the issuer of a certificate, and what its answer means.
public struct RevocationCheck: Sendable {
  /// The certificate that is asked about.
  public let certificate: Certificate
  /// The one that issued it.
  public let issuer: Certificate
  private let root: Certificate
  /// The address at which the question is posted as `application/ocsp-request` (RFC 6960 appendix A).
  public let responder: String

  init(certificate: Certificate, issuer: Certificate, root: Certificate, responder: String) {
    self.certificate = certificate
    self.issuer = issuer
    self.root = root
    self.responder = responder
  }

  /// The question in DER. Throws ``ReceiptError``.
  public func request() throws -> [UInt8] {
    try RevocationMessages.request(about: certificate, from: issuer)
  }

  /// Returns the meaning of the answer at `moment`. An answer decides nothing unless it is about this
  /// certificate, signed by the issuer or on its behalf, and in its time, give or take 60 seconds. Throws
  /// ``ReceiptError`` when libcrypto fails.
  public func verdict(of response: [UInt8], at moment: Timestamp) throws -> RevocationVerdict {
    try RevocationMessages.verdict(
      of: response, about: certificate, from: issuer, trusting: root, at: moment)
  }
}

extension SignedDataChain {
  private struct Header: Decodable {
    var alg: String
    var x5c: [String]?
    /// Extensions that must be understood; this version understands none.
    var crit: [String]?
    /// RFC 7797: whether the payload is in base 64.
    var b64: Bool?
  }

  /// Certificates are some 1,000 bytes.
  private static let maximumCertificateLength = 4096

  /// The chain that a header's segment names, checked against `roots` at `moment`. Throws ``ReceiptError``:
  /// `malformed`, `chainInvalid`, `markerMissing`.
  init(header: [UInt8]?, trusting trust: SignedDataTrust, at moment: Timestamp) throws {
    let encoded = try Self.certificates(inHeader: header)
    // Reading a certificate takes as long as a signature over P-256: none is read twice.
    let leafHandle = try X509Certificate(der: encoded[0])
    let intermediateHandle = try X509Certificate(der: encoded[1])
    // The third is whatever the sender took for a root; only a configured one counts.
    if trust.root(encoded: encoded[2]) == nil { _ = try X509Certificate(der: encoded[2]) }
    leaf = Certificate(leafHandle, der: encoded[0])
    intermediate = Certificate(intermediateHandle, der: encoded[1])
    let others = try unsafe CertificateStack(takingOwnershipOf: nil)
    try unsafe others.append(intermediateHandle.handle)
    let chain = try unsafe trust.store.chain(from: leafHandle.handle, among: others, at: moment)
    guard chain.count == 3, let first = unsafe chain[0], let second = unsafe chain[1],
      let third = unsafe chain[2], unsafe X509_cmp(second, intermediateHandle.handle) == 0
    else {
      throw ReceiptError(
        .chainInvalid, "the chain does not lead over the second of three certificates to a root")
    }
    guard unsafe X509Extension.isPresent(ReceiptExtensionOID.leaf, in: first),
      unsafe X509Extension.isPresent(ReceiptExtensionOID.intermediate, in: second)
    else { throw ReceiptError(.markerMissing, "the signing certificate was not issued for signed data") }
    guard let publicKey = unsafe X509_get_pubkey(first),
      let key = unsafe ES256PublicKey(takingOwnershipOf: publicKey)
    else {
      throw ReceiptError(.chainInvalid, "the signing certificate's key is not on the curve P-256")
    }
    self.key = key
    guard let rootEncoding = unsafe DERCoding.encode({ unsafe i2d_X509(third, $0) }) else {
      throw ReceiptError(.chainInvalid, "libcrypto: \(LibcryptoErrors.drain())")
    }
    root = try trust.root(encoded: rootEncoding) ?? Certificate(der: rootEncoding)
    let validities = try [
      unsafe X509Certificate.validity(of: first), unsafe X509Certificate.validity(of: second),
      unsafe X509Certificate.validity(of: third),
    ]
    leafValidity = validities[0]
    validity = validities.dropFirst().reduce(validities[0]) { $0.clamped(to: $1) }
    responders = unsafe [X509Certificate.responder(of: first), X509Certificate.responder(of: second)]
  }

  /// The DER of three certificates, which need not be any.
  private static func certificates(inHeader bytes: [UInt8]?) throws -> [[UInt8]] {
    guard let bytes, JSONNesting.depth(of: bytes) <= SignedData.maximumDepth
    else { throw ReceiptError.malformed("the signed data's header is no base 64, or nested too deep") }
    let header: Header
    do {
      header =
        try JSONDocumentReader.value(Header.self, in: bytes)
        ?? JSONDecoder().decode(Header.self, from: Data(bytes))
    } catch {
      throw ReceiptError.malformed("the signed data's header is not readable")
    }
    guard JSONMembers.areUnique(in: bytes) else {
      throw ReceiptError.malformed("the signed data's header has a member twice")
    }
    guard header.alg == "ES256", header.crit == nil, header.b64 == nil else {
      throw ReceiptError.malformed("the signed data's signature is not of the kind ES256")
    }
    guard let encoded = header.x5c, encoded.count == 3 else {
      throw ReceiptError.malformed("the signed data does not hold exactly three certificates")
    }
    return try encoded.map { text in
      guard text.utf8.count <= maximumCertificateLength, let der = Base64.decode(text) else {
        throw ReceiptError.malformed("a certificate of the signed data is no base 64, or too long")
      }
      return der
    }
  }
}

/// The configured roots, read once, as libcrypto trusts them.
final class SignedDataTrust: Sendable {
  let store: TrustStore
  private let roots: [Certificate]

  init(_ roots: [Certificate]) throws {
    store = try TrustStore.trusting(roots, at: nil, authenticationLevel: 2)
    self.roots = roots
  }

  /// The one of these octets, which are few.
  func root(encoded der: [UInt8]) -> Certificate? { roots.first { $0.der == der } }
}

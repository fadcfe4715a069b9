public import CoreTypes
import Crypto
import FoundationEssentials

/// The certificates and keys of a store that signs its own transactions and notifications: root and intermediate over
/// P-384, leaf over P-256, shaped like the ones of the store that they imitate. For the sandbox store and for tests.
///
/// The root bears ``sandboxUnit`` in its subject, so that no server that sells for money takes it for a real one.
public struct SignedDataAuthority: Sendable {
  /// The certificate that verifiers are given to trust.
  public let root: Certificate
  /// The certificate between root and leaf.
  public let intermediate: Certificate
  /// The certificate whose key signs.
  public let leaf: Certificate
  private let rootKey: PrivateKey
  private let intermediateKey: PrivateKey
  private let leafKey: PrivateKey
  /// The leaf's key once more; nil for one that cannot sign data.
  private let signingKey: ES256Key?

  /// The unit in the subject of every root that this type makes.
  public static let sandboxUnit = "pullbox-sandbox, worth nothing"
  /// How long an answer of the responder may be believed.
  public static let responseLifetime: Duration = .seconds(3600)

  /// Makes three keys and three certificates. Throws ``ReceiptError`` `signingFailed`.
  public static func generate(_ options: Options) throws -> SignedDataAuthority {
    let rootKey = try PrivateKey.generate(.p384)
    let root = try CertificateTemplate.signedDataRoot(options).issue(
      for: rootKey, by: nil, signedWith: rootKey)
    return try issue(options, under: root, rootKey)
  }

  private static func issue(
    _ options: Options, under root: Certificate, _ rootKey: PrivateKey
  ) throws -> SignedDataAuthority {
    // They stand in a list of extensions, in which these characters end a value.
    guard !options.responder.contains(where: { ",;\n\r".contains($0) }) else {
      throw ReceiptError(.signingFailed, "the responder's address cannot stand in a certificate")
    }
    let intermediateKey = try PrivateKey.generate(.p384)
    let intermediate = try CertificateTemplate.signedDataIntermediate(options)
      .issue(for: intermediateKey, by: root, signedWith: rootKey)
    let leafKey = try PrivateKey.generate(options.leafKind)
    let leaf = try CertificateTemplate.signedDataLeaf(options)
      .issue(for: leafKey, by: intermediate, signedWith: intermediateKey)
    return try SignedDataAuthority(
      root: root, intermediate: intermediate, leaf: leaf, rootKey: rootKey,
      intermediateKey: intermediateKey, leafKey: leafKey)
  }

  private init(
    root: Certificate, intermediate: Certificate, leaf: Certificate, rootKey: PrivateKey,
    intermediateKey: PrivateKey, leafKey: PrivateKey
  ) throws {
    self.root = root
    self.intermediate = intermediate
    self.leaf = leaf
    self.rootKey = rootKey
    self.intermediateKey = intermediateKey
    self.leafKey = leafKey
    signingKey = ES256Key(pem: try leafKey.pem())
  }

  /// Reads what ``pem()`` wrote. Throws ``ReceiptError`` `malformed`.
  public init(pem: String) throws {
    let chain = try Certificate.certificates(inPEM: pem)
    guard chain.count == 3, let keys = PEMDocument.documents(labeled: "PRIVATE KEY", in: pem), keys.count == 3
    else { throw ReceiptError.malformed("this is no chain of three certificates with their keys") }
    try self.init(
      root: chain[2], intermediate: chain[1], leaf: chain[0],
      rootKey: try PrivateKey(pem: keys[2].text, kind: .p384),
      intermediateKey: try PrivateKey(pem: keys[1].text, kind: .p384),
      leafKey: try PrivateKey(pem: keys[0].text, kind: .p256))
  }

  /// Certificates and keys, the leaf's first. Secret: for a file that only its owner may read.
  public func pem() throws -> String {
    try leaf.pem + intermediate.pem + root.pem + leafKey.pem() + intermediateKey.pem() + rootKey.pem()
  }

  /// Where the certificates say that the responder is.
  public func responder() throws -> String? {
    let leaf = try X509Certificate(der: leaf.der)
    return unsafe X509Certificate.responder(of: leaf.handle)
  }

  /// The same root with an intermediate and a leaf made anew: another address of the responder, another validity. What
  /// was signed before stays genuine. Throws ``ReceiptError`` `signingFailed`.
  public func renewed(_ options: Options) throws -> SignedDataAuthority {
    try Self.issue(options, under: root, rootKey)
  }

  /// The compact form of `payload` signed with the leaf's key, all three certificates in the header. Throws
  /// ``ReceiptError`` `signingFailed`.
  public func sign(_ payload: [UInt8]) throws -> String {
    try sign(payload, header: ["alg": "ES256"], certificates: [leaf, intermediate, root].map(\.der))
  }

  /// For tests of what is refused: any header over any octets for certificates.
  func sign(_ payload: [UInt8], header: [String: String], certificates: [[UInt8]]?) throws -> String {
    let encoded = certificates?.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
    let members =
      header.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }
      + (encoded.map { ["\"x5c\":[\($0)]"] } ?? [])
    return try sign(payload, rawHeader: "{\(members.joined(separator: ","))}")
  }

  func sign(_ payload: [UInt8], rawHeader: String) throws -> String {
    let input = Base64.encode(Array(rawHeader.utf8), .url) + "." + Base64.encode(payload, .url)
    guard let signingKey else {
      throw ReceiptError(.signingFailed, "the leaf's key is not on the curve P-256")
    }
    return input + "." + Base64.encode(signingKey.sign(Array(input.utf8)), .url)
  }

  /// Answers a question about leaf or intermediate (RFC 6960), signed by the issuer of the one that is asked about. What
  /// is not readable is answered by the status for that.
  ///
  /// - Parameters:
  ///   - request: DER; at most 4,096 bytes, and 8 certificates, are read.
  ///   - moment: the date of the answer, which may be believed for ``responseLifetime``.
  ///   - revoked: certificates that count no more.
  public func ocspResponse(
    to request: [UInt8], at moment: Timestamp, revoked: Set<CertificateSerialNumber> = []
  ) -> [UInt8] {
    RevocationMessages.response(
      to: request,
      about: [
        .init(certificate: leaf, issuer: intermediate, key: intermediateKey),
        .init(certificate: intermediate, issuer: root, key: rootKey),
      ], revoked: revoked, validity: moment...(moment + Self.responseLifetime))
  }
}

extension SignedDataAuthority: CustomStringConvertible {
  /// Says only what it is: the keys stay out of logs.
  public var description: String { "signed data authority" }
}

extension SignedDataAuthority {
  /// How a fresh authority's certificates look.
  public struct Options: Sendable {
    /// The organization in every subject.
    public var organization: String
    /// Where the certificates say that their issuers answer for them, as `http://host:port/path`.
    public var responder: String
    /// The leaf's validity. It must have begun when the first payload is signed.
    public var leafValidity: ClosedRange<Timestamp>
    /// The validity of the two others.
    public var issuerValidity: ClosedRange<Timestamp>
    /// Off, for tests: a root that stands for a real one.
    var marksRoot = true
    /// Off, for tests: a leaf that was issued for something else.
    public var marksLeaf = true
    /// Off, for tests: an intermediate certificate that was issued for something else.
    public var marksIntermediate = true
    /// The curve of the leaf's key; another than P-256 only for tests.
    var leafKind = PrivateKey.Kind.p256

    /// A leaf for two years and issuers for twenty, from the day before `now`.
    public init(organization: String = "Pullbox Sandbox", responder: String, now: Timestamp) {
      let day: Duration = .seconds(86_400)
      self.organization = organization
      self.responder = responder
      leafValidity = (now - day)...(now + day * 730)
      issuerValidity = (now - day)...(now + day * 7300)
    }
  }
}

extension CertificateTemplate {
  fileprivate static func signedDataRoot(_ options: SignedDataAuthority.Options) -> CertificateTemplate {
    CertificateTemplate(
      commonName: "\(options.organization) Root EC", organization: options.organization,
      validity: options.issuerValidity,
      extensions: [
        ("basicConstraints", "critical,CA:TRUE"), ("keyUsage", "critical,keyCertSign,cRLSign"),
        ("subjectKeyIdentifier", "hash"),
      ], unit: options.marksRoot ? SignedDataAuthority.sandboxUnit : nil)
  }

  fileprivate static func signedDataIntermediate(
    _ options: SignedDataAuthority.Options
  ) -> CertificateTemplate {
    CertificateTemplate(
      commonName: "\(options.organization) Intermediate EC", organization: options.organization,
      validity: options.issuerValidity,
      extensions: [
        ("basicConstraints", "critical,CA:TRUE,pathlen:0"), ("keyUsage", "critical,keyCertSign,cRLSign"),
        ("subjectKeyIdentifier", "hash"), ("authorityKeyIdentifier", "keyid:always"),
        ("authorityInfoAccess", "OCSP;URI:\(options.responder)"),
      ] + (options.marksIntermediate ? [(ReceiptExtensionOID.intermediate, "ASN1:NULL")] : []))
  }

  fileprivate static func signedDataLeaf(_ options: SignedDataAuthority.Options) -> CertificateTemplate {
    CertificateTemplate(
      commonName: "\(options.organization) Signed Data", organization: options.organization,
      validity: options.leafValidity,
      extensions: [
        ("basicConstraints", "critical,CA:FALSE"), ("keyUsage", "critical,digitalSignature"),
        ("subjectKeyIdentifier", "hash"), ("authorityKeyIdentifier", "keyid:always"),
        ("authorityInfoAccess", "OCSP;URI:\(options.responder)"),
      ] + (options.marksLeaf ? [(ReceiptExtensionOID.leaf, "ASN1:NULL")] : []))
  }
}

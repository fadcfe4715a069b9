public import CoreTypes

/// The certificates and the key of a store that signs its own receipts: root → intermediate → leaf, shaped like the
/// ones of the store whose receipts they imitate. For the sandbox store and for tests. The root says so in its subject, by
/// ``SignedDataAuthority/sandboxUnit``.
public struct ReceiptAuthority: Sendable {
  /// The certificate that verifiers are given to trust.
  public let root: Certificate
  /// The certificate between root and leaf.
  public let intermediate: Certificate
  /// The certificate whose key signs receipts.
  public let leaf: Certificate
  private let leafKey: PrivateKey

  /// Makes three keys and three certificates. The root's and the intermediate's keys are not kept: nothing more will
  /// ever be issued. Takes a good part of a second, so not on the cooperative pool.
  ///
  /// Throws ``ReceiptError`` `signingFailed`.
  public static func generate(_ options: Options) throws -> ReceiptAuthority {
    let rootKey = try PrivateKey.generate(.rsa)
    let intermediateKey = try PrivateKey.generate(.rsa)
    let leafKey = try PrivateKey.generate(.rsa)
    let root = try CertificateTemplate.root(options).issue(for: rootKey, by: nil, signedWith: rootKey)
    let intermediate = try CertificateTemplate.intermediate(options)
      .issue(for: intermediateKey, by: root, signedWith: rootKey)
    let leaf = try CertificateTemplate.leaf(options)
      .issue(for: leafKey, by: intermediate, signedWith: intermediateKey)
    return ReceiptAuthority(root: root, intermediate: intermediate, leaf: leaf, leafKey: leafKey)
  }

  private init(root: Certificate, intermediate: Certificate, leaf: Certificate, leafKey: PrivateKey) {
    self.root = root
    self.intermediate = intermediate
    self.leaf = leaf
    self.leafKey = leafKey
  }

  /// - Parameters:
  ///   - chainPEM: leaf, intermediate and root, in this order.
  ///   - keyPEM: the leaf's private key.
  ///
  /// Throws ``ReceiptError`` `malformed`.
  public init(chainPEM: String, keyPEM: String) throws {
    let chain = try Certificate.certificates(inPEM: chainPEM)
    guard chain.count == 3 else { throw ReceiptError.malformed("the chain is not of three certificates") }
    self.init(
      root: chain[2], intermediate: chain[1], leaf: chain[0], leafKey: try PrivateKey(pem: keyPEM, kind: .rsa)
    )
  }

  /// The three certificates in PEM, the leaf first.
  public var chainPEM: String { leaf.pem + intermediate.pem + root.pem }

  /// Secret: for a file that only its owner may read.
  public func keyPEM() throws -> String { try leafKey.pem() }

  /// Signs receipts with the leaf's key.
  public var signer: AppReceiptSigner { AppReceiptSigner(key: leafKey, chain: [leaf, intermediate, root]) }
}

extension ReceiptAuthority: CustomStringConvertible {
  /// Says only what it is: the key stays out of logs.
  public var description: String { "receipt authority" }
}

extension ReceiptAuthority {
  /// How a fresh authority's certificates look.
  public struct Options: Sendable {
    /// The organization in every subject.
    public var organization: String
    /// The signing certificate's validity. It must have begun when the first receipt is made; a receipt's date has whole
    /// seconds only, so it is dated back.
    public var leafValidity: ClosedRange<Timestamp>
    /// The validity of the two others.
    public var issuerValidity: ClosedRange<Timestamp>
    /// Off, for tests: certificates that were issued for something else.
    public var marksLeaf = true
    /// Off, for tests: an intermediate certificate that was issued for something else.
    public var marksIntermediate = true

    /// A leaf for two years and issuers for twenty, from the day before `now`.
    public init(organization: String = "Pullbox Sandbox", now: Timestamp) {
      let day: Duration = .seconds(86_400)
      self.organization = organization
      leafValidity = (now - day)...(now + day * 730)
      issuerValidity = (now - day)...(now + day * 7300)
    }
  }
}

/// The contents of a certificate before it is signed.
struct CertificateTemplate {
  let commonName: String
  let organization: String
  let validity: ClosedRange<Timestamp>
  /// Extension name (or dotted identifier) and value, in libcrypto's configuration language.
  let extensions: [(name: String, value: String)]
  /// A unit of the organization.
  var unit: String?

  static func root(_ options: ReceiptAuthority.Options) -> CertificateTemplate {
    CertificateTemplate(
      commonName: "\(options.organization) Root", organization: options.organization,
      validity: options.issuerValidity,
      extensions: [
        ("basicConstraints", "critical,CA:TRUE"), ("keyUsage", "critical,keyCertSign,cRLSign"),
        ("subjectKeyIdentifier", "hash"),
      ], unit: SignedDataAuthority.sandboxUnit)
  }

  static func intermediate(_ options: ReceiptAuthority.Options) -> CertificateTemplate {
    CertificateTemplate(
      commonName: "\(options.organization) Intermediate", organization: options.organization,
      validity: options.issuerValidity,
      extensions: [
        ("basicConstraints", "critical,CA:TRUE,pathlen:0"), ("keyUsage", "critical,keyCertSign,cRLSign"),
        ("subjectKeyIdentifier", "hash"), ("authorityKeyIdentifier", "keyid:always"),
      ] + (options.marksIntermediate ? [(ReceiptExtensionOID.intermediate, "ASN1:NULL")] : []))
  }

  static func leaf(_ options: ReceiptAuthority.Options) -> CertificateTemplate {
    CertificateTemplate(
      commonName: "\(options.organization) Receipt Signing", organization: options.organization,
      validity: options.leafValidity,
      extensions: [
        ("basicConstraints", "critical,CA:FALSE"), ("keyUsage", "critical,digitalSignature"),
        ("subjectKeyIdentifier", "hash"), ("authorityKeyIdentifier", "keyid:always"),
      ] + (options.marksLeaf ? [(ReceiptExtensionOID.leaf, "ASN1:NULL")] : []))
  }

  /// Signs the certificate for `key`. No issuer: the certificate is its own. Throws ``ReceiptError`` `signingFailed`.
  func issue(for key: PrivateKey, by issuer: Certificate?, signedWith issuerKey: PrivateKey) throws
    -> Certificate
  {
    LibcryptoErrors.clear()
    let builder = try CertificateBuilder(issuer: issuer.map { try X509Certificate(der: $0.der) })
    try builder.setSerialNumber()
    try builder.setValidity(validity)
    try builder.setKey(key)
    try builder.setSubject(organization: organization, unit: unit, commonName: commonName)
    for (name, value) in extensions {
      try builder.addExtension(name, value: value)
    }
    return try builder.sign(with: issuerKey)
  }
}

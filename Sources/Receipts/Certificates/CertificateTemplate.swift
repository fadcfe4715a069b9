import CoreTypes

/// What goes into a certificate before it is signed.
struct CertificateTemplate {
  let commonName: String
  let organization: String
  let validity: ClosedRange<Timestamp>
  /// Extension name (or dotted identifier) and value, in libcrypto's configuration language.
  let extensions: [(name: String, value: String)]

  static func root(_ options: ReceiptAuthority.Options) -> CertificateTemplate {
    CertificateTemplate(
      commonName: "\(options.organization) Root", organization: options.organization,
      validity: options.issuerValidity,
      extensions: [
        ("basicConstraints", "critical,CA:TRUE"), ("keyUsage", "critical,keyCertSign,cRLSign"),
        ("subjectKeyIdentifier", "hash"),
      ])
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
  func issue(for key: RSAKey, by issuer: Certificate?, signedWith issuerKey: RSAKey) throws -> Certificate {
    LibcryptoErrors.clear()
    let builder = try CertificateBuilder(issuer: issuer.map { try X509Certificate(der: $0.der) })
    try builder.setSerialNumber()
    try builder.setValidity(validity)
    try builder.setKey(key)
    try builder.setSubject(organization: organization, commonName: commonName)
    for (name, value) in extensions {
      try builder.add(name, value)
    }
    return try builder.sign(with: issuerKey)
  }
}

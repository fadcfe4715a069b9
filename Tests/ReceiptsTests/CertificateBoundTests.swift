import CoreTypes
import Crypto
import Testing

@testable import Receipts

/// Chains that no store makes: too long, with other certificates beside them, of names that RFC 5280 does not allow (§4.1.2.4, §4.1.2.6),
/// and at the first and the last second of their time (§4.1.2.5).
@Suite("Chains of certificates at their bounds")
struct CertificateBoundTests {
  /// The places of a chain, from the leaf to the root.
  private static let places = ["leaf", "intermediate", "root"]
  /// A key of this kind takes a while; receipts are signed with no other.
  private static let leafKey = Result { try PrivateKey.generate(.rsa) }
  private static let day: Duration = .seconds(86_400)
  private static let validity = (Fixtures.now - day * 100)...(Fixtures.now + day * 100)

  /// One key for all issuers: their names tell them apart.
  private let issuerKey: PrivateKey

  init() throws {
    issuerKey = try .generate(.p256)
  }

  /// A certificate in the shape of those that receipts are signed under; nil for a subject without a name.
  private func issue(
    _ name: String?, by issuer: Certificate?, isLeaf: Bool = false, in validity: ClosedRange<Timestamp>? = nil
  ) throws -> Certificate {
    let builder = try CertificateBuilder(issuer: issuer.map { try X509Certificate(der: $0.der) })
    try builder.setSerialNumber()
    try builder.setValidity(validity ?? Self.validity)
    try builder.setKey(isLeaf ? Self.leafKey.get() : issuerKey)
    if let name { try builder.setSubject(organization: "A store", unit: nil, commonName: name) }
    try builder.addExtension("basicConstraints", value: "critical,CA:\(isLeaf ? "FALSE" : "TRUE")")
    try builder.addExtension(
      "keyUsage", value: "critical,\(isLeaf ? "digitalSignature" : "keyCertSign,cRLSign")")
    try builder.addExtension("subjectKeyIdentifier", value: "hash")
    if issuer != nil {
      try builder.addExtension("authorityKeyIdentifier", value: "keyid:always")
      let marker = isLeaf ? ReceiptExtensionOID.leaf : ReceiptExtensionOID.intermediate
      try builder.addExtension(marker, value: "ASN1:NULL")
    }
    return try builder.sign(with: issuerKey)
  }

  /// A chain with so many certificates, the leaf first. The place that is named has no name, or that validity.
  private func chain(
    of count: Int = 3, nameless: String? = nil, limited place: String? = nil,
    to validity: ClosedRange<Timestamp>? = nil
  ) throws -> [Certificate] {
    func name(_ other: String, at place: String) -> String? { place == nameless ? nil : other }
    func time(at other: String) -> ClosedRange<Timestamp>? { other == place ? validity : nil }
    var chain = [try issue(name("Root", at: "root"), by: nil, in: time(at: "root"))]
    for number in 0..<count - 2 {
      let issued = try issue(
        name("Intermediate \(number)", at: "intermediate"), by: chain[0], in: time(at: "intermediate"))
      chain.insert(issued, at: 0)
    }
    let leaf = try issue(name("Leaf", at: "leaf"), by: chain[0], isLeaf: true, in: time(at: "leaf"))
    return [leaf] + chain
  }

  /// The refusal of a receipt that is signed under the chain and holds the others as well; nil where it is genuine.
  private func refusal(under chain: [Certificate], besides others: [Certificate] = []) throws -> ReceiptError?
  {
    let signer = AppReceiptSigner(key: try Self.leafKey.get(), chain: chain + others)
    let receipt = try UnverifiedAppReceipt(encoded: signer.sign(Fixtures.receipt()))
    do {
      _ = try receipt.verified(trusting: Array(chain.suffix(1)), now: Fixtures.now)
      return nil
    } catch let error as ReceiptError {
      return error
    }
  }

  @Test("a chain of three of this shape is genuine")
  func three() throws {
    let refusal = try refusal(under: chain())
    #expect(refusal == nil)
  }

  @Test(
    "a chain that leads over 48 intermediate certificates to the root is refused, and the refusal counts them"
  )
  func fifty() throws {
    let chain = try chain(of: 50)
    try #require(chain.count == 50)
    let refusal = try refusal(under: chain)
    #expect(refusal?.code == .chainInvalid)
    #expect(refusal?.message.contains("50 certificates") == true)
  }

  @Test("a receipt with 47 certificates beside its chain of three is refused")
  func beside() throws {
    let chain = try chain()
    let others = try (0..<47).map { try issue("Other \($0)", by: chain[2]) }
    let refusal = try refusal(under: chain, besides: others)
    #expect(refusal?.code == .chainInvalid)
    #expect(refusal?.message.contains("outside the chain") == true)
  }

  @Test("a certificate without a name is refused, and so is what it issued", arguments: places)
  func nameless(place: String) throws {
    let refusal = try refusal(under: chain(nameless: place))
    #expect(refusal?.code == .chainInvalid)
    #expect(refusal?.message.contains("name empty") == true, "\(String(describing: refusal))")
  }

  @Test(
    "a second before its time, and a second after it, a certificate of whatever place ends the chain",
    arguments: places)
  func seconds(place: String) throws {
    let (date, second) = (Fixtures.now, Duration.seconds(1))
    let (from, to) = (Self.validity.lowerBound, Self.validity.upperBound)
    for (validity, reason) in [
      (from...(date + second), nil), (date...to, nil), (from...(date - second), "expired"),
      ((date + second)...to, "not yet valid"),
    ] as [(ClosedRange<Timestamp>, String?)] {
      let refusal = try refusal(under: chain(limited: place, to: validity))
      let code: ReceiptError.Code? = reason == nil ? nil : .chainInvalid
      #expect(refusal?.code == code, "\(validity)")
      if let reason { #expect(refusal?.message.contains(reason) == true, "\(String(describing: refusal))") }
    }
  }

  @Test("signed data with fifty certificates is refused, whether or not they fit into a header")
  func signedData() throws {
    let authority = try SignedDataFixtures.authority.get()
    let (leaf, payload) = (authority.leaf.der, SignedDataFixtures.payload)
    for certificate in [leaf, [0, 0, 0]] {
      let text = try authority.sign(
        payload, header: ["alg": "ES256"], certificates: Array(repeating: certificate, count: 50))
      let error = #expect(throws: ReceiptError.self) {
        let data = try SignedData(text: text, maximumLength: 1 << 20)
        _ = try SignedDataFixtures.verifier(of: authority).verify(data, at: SignedDataFixtures.now)
      }
      #expect(error?.code == .malformed)
      if certificate != leaf { #expect(error?.message.contains("three certificates") == true) }
    }
  }
}

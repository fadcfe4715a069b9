import CoreTypes
import Testing

@testable import Receipts

/// A genuine receipt's CMS message (RFC 5652 §5) with one thing changed: something that no signature covers,
/// or a part of the signature itself.
@Suite("The shape of a receipt's CMS message")
struct CMSShapeTests {
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let apply: @Sendable (inout DERTree) -> Void

    init(_ description: String, _ apply: @escaping @Sendable (inout DERTree) -> Void) {
      testDescription = description
      self.apply = apply
    }
  }

  let root: Certificate
  let genuine: DERTree

  init() throws {
    root = try ReceiptVectors.root()
    genuine = try ReceiptVectors.tree("production")
  }

  func parse(_ encoded: [UInt8]) throws -> UnverifiedAppReceipt { try UnverifiedAppReceipt(encoded: encoded) }

  func verify(_ encoded: [UInt8]) throws -> AppReceipt {
    try parse(encoded).verified(trusting: [root], now: Fixtures.now).receipt
  }

  func changed(_ change: Change) -> [UInt8] {
    var tree = genuine
    change.apply(&tree)
    return tree.encoded
  }

  @Test("taken apart and put together again, the receipt is itself")
  func identity() throws {
    #expect(genuine.encoded == (try ReceiptVectors.receipt("production").encoded))
    #expect(throws: Never.self) { try verify(genuine.encoded) }
  }

  /// 1.2.840.113549.1.7.1, .2 and .3; 1.2.840.113549.1.9.16.1.4.
  private static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
  private static let envelopedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x03]
  private static let timeStampInfo: [UInt8] = [
    0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x01, 0x04,
  ]
  /// sha256WithRSAEncryption, 1.2.840.113549.1.1.11.
  private static let sha256WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]
  /// SHA-1 and SHA-512.
  private static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
  private static let sha512: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03]

  @Test(
    "what is no CMS message of data with one signer is not read as a receipt",
    arguments: [
      Change("its type is data") { $0[CMSPath.contentType].octets = data },
      Change("its type is enveloped data") { $0[CMSPath.contentType].octets = envelopedData },
      Change("its content is a time stamp") { $0[CMSPath.encapsulatedType].octets = timeStampInfo },
      Change("it has no content") { $0[CMSPath.encapsulated].elements.removeLast() },
      Change("its content is a SEQUENCE") { $0[CMSPath.payload] = .sequence([]) },
      Change("its content is empty") { $0[CMSPath.payload].octets = [] },
      Change("nobody signed it") { $0[CMSPath.signers].elements = [] },
      Change("it was signed twice") { $0[CMSPath.signers].elements += $0[CMSPath.signers].elements },
      Change("it ends after its type") { $0.elements.removeLast() },
      Change("it holds nothing") { $0[[1]].elements = [] },
      Change("its signed data is a SET") { $0[CMSPath.signedData].tag = 0x31 },
      Change("it has no version") { $0[CMSPath.signedData].elements.removeFirst() },
      Change("it ends before its signers") { $0[CMSPath.signedData].elements.removeLast() },
      Change("its signer has no signature") { $0[CMSPath.signer].elements.removeLast() },
      Change("its signer has no name") { $0[CMSPath.signer].elements.remove(at: 1) },
    ])
  func unread(change: Change) {
    let error = #expect(throws: ReceiptError.self) { try parse(changed(change)) }
    #expect(error?.code == .malformed)
  }

  @Test(
    "what the signature does not cover must be as the standard says",
    arguments: [
      Change("version 3") { $0[CMSPath.version].octets = [3] },
      Change("version 0") { $0[CMSPath.version].octets = [0] },
      Change("the signer's version 3") { $0[CMSPath.signerVersion].octets = [3] },
      Change("revocation lists") { $0[CMSPath.signedData].elements.insert(DERTree(0xA1, of: []), at: 4) },
      Change("no certificates") { $0[CMSPath.signedData].elements.remove(at: 3) },
      Change("a named signature algorithm with its digest") {
        $0[CMSPath.signatureAlgorithm].elements[0].octets = sha256WithRSA
      },
      Change("a signature algorithm without parameters") {
        $0[CMSPath.signatureAlgorithm].elements.removeLast()
      },
      Change("a signature algorithm with parameters") {
        $0[CMSPath.signatureAlgorithm].elements[1] = .octetString([1])
      },
      Change("a signature algorithm with a third part") {
        $0[CMSPath.signatureAlgorithm].elements.append(.null)
      },
      Change("unsigned attributes") {
        // signingTime, which may stand there.
        let type = DERTree(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x05])
        let time = DERTree(0x17, Array("240223172716Z".utf8))
        $0[CMSPath.signer].elements.append(DERTree(0xA1, of: [.sequence([type, .set([time])])]))
      },
    ])
  func uncovered(change: Change) {
    let error = #expect(throws: ReceiptError.self) { try verify(changed(change)) }
    #expect(error?.code == .malformed)
  }

  @Test(
    "another content, signer or signature is refused",
    arguments: [
      Change("another payload") { $0[CMSPath.payload].octets[100] ^= 1 },
      Change("another serial number") { $0[CMSPath.serialNumber].octets[3] ^= 1 },
      Change("another issuer") { $0[CMSPath.issuer + [0, 0, 1]].octets[0] ^= 1 },
      Change("the issuer in capitals") {
        let name = $0[CMSPath.issuer + [0, 0, 1]].octets
        $0[CMSPath.issuer + [0, 0, 1]].octets = name.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
      },
      Change("another digest named by the signer") {
        $0[CMSPath.digestAlgorithm].elements[0].octets = sha512
      },
      Change("another digest named by both") {
        $0[CMSPath.digestAlgorithm].elements[0].octets = sha1
        $0[CMSPath.digestAlgorithms].elements[0].elements[0].octets = sha1
      },
      Change("no digest named in front") { $0[CMSPath.digestAlgorithms].elements = [] },
      Change("no signature") { $0[CMSPath.signature].octets = [] },
      Change("a signature of one octet") { $0[CMSPath.signature].octets = [1] },
      Change("a signature of zeros") {
        $0[CMSPath.signature].octets = [UInt8](repeating: 0, count: 256)
      },
      Change("a signature with a zero in front") { $0[CMSPath.signature].octets.insert(0, at: 0) },
      Change("a signature with a zero behind") { $0[CMSPath.signature].octets.append(0) },
      Change("no leaf among the certificates") { $0[CMSPath.certificates].elements.removeAll { $0.isLeaf } },
      Change("signed attributes over another payload") {
        let type = DERTree(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04])
        let digest = DERTree.octetString([UInt8](repeating: 0, count: 32))
        $0[CMSPath.signer].elements.insert(
          DERTree(0xA0, of: [.sequence([type, .set([digest])])]), at: 3)
      },
    ])
  func refused(change: Change) {
    #expect(throws: ReceiptError.self) { try verify(changed(change)) }
  }

  @Test("the claims are read without the certificates, which are read when they are checked")
  func certificatesLater() throws {
    var tree = genuine
    tree[CMSPath.certificates].elements = [.sequence([])]
    #expect(try parse(tree.encoded).claims == parse(genuine.encoded).claims)
    let error = #expect(throws: ReceiptError.self) { try verify(tree.encoded) }
    #expect(error?.code == .malformed)
  }

  @Test("BER is refused where DER is not: indefinite lengths, content in pieces, lengths longer than need be")
  func basicRules() throws {
    var pieces = genuine
    let payload = pieces[CMSPath.payload].octets
    pieces[CMSPath.payload] = DERTree(
      0x24, of: [.octetString(Array(payload.prefix(700))), .octetString(Array(payload.dropFirst(700)))])
    let definite = genuine.encoded
    let spellings = [
      genuine.encodedIndefinitely, pieces.encodedIndefinitely,
      // The outermost length with a zero in front.
      [0x30, 0x83, 0x00] + definite[2...],
    ]
    for encoded in spellings {
      // The same claims, which is why it may be asked about; but no proof.
      #expect(try parse(encoded).claims == parse(definite).claims)
      let error = #expect(throws: ReceiptError.self) { try verify(encoded) }
      #expect(error?.code == .malformed)
    }
  }

  @Test("nothing may follow the message, in front of it or between its parts")
  func strays() {
    let encoded = genuine.encoded
    for stray: [UInt8] in [[0], [0, 0], [5, 0], encoded] {
      #expect(throws: ReceiptError.self) { try verify(encoded + stray) }
      #expect(throws: ReceiptError.self) { try verify(stray + encoded) }
    }
    // A digest algorithm may be written with NULL for its parameters and without (RFC 5754 §2).
    let digests = [CMSPath.digestAlgorithms + [0], CMSPath.digestAlgorithm]
    let constructed = [[]] + genuine.paths.filter { !genuine[$0].elements.isEmpty }
    for path in constructed where !digests.contains(path) {
      var tree = genuine
      tree[path].elements.append(.null)
      #expect(throws: ReceiptError.self, "at \(path)") { try verify(tree.encoded) }
    }
  }

  @Test("elements in elements without end cost an error, not the stack")
  func nesting() {
    for tag: UInt8 in [0x30, 0x31, 0xA0, 0x24] {
      let indefinite = [[UInt8]](repeating: [tag, 0x80], count: 100_000).flatMap { $0 }
      #expect(throws: ReceiptError.self) { try parse(indefinite) }
      #expect(throws: ReceiptError.self) { try AppReceipt(payload: indefinite) }
      var definite: [UInt8] = []
      for _ in 0..<2000 { definite = [tag] + DERTree.length(definite.count) + definite }
      #expect(throws: ReceiptError.self) { try parse(definite) }
      #expect(throws: ReceiptError.self) { try AppReceipt(payload: definite) }
    }
  }
}

extension DERTree {
  /// Whether this certificate was issued by another subject than the root and the intermediate.
  fileprivate var isLeaf: Bool { encoded.contains(Array("Vector leaf".utf8)) }
}

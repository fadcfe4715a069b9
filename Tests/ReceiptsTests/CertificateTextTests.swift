import CoreTypes
import Crypto
import PullboxTesting
import Testing

@testable import Receipts

/// RFC 7468, and what `ReceiptAuthority` makes of it.
@Suite("Certificates and keys as text")
struct CertificateTextTests {
  let authority: ReceiptAuthority
  let root: Certificate

  init() throws {
    authority = try Fixtures.authority.get()
    root = try ReceiptVectors.root()
  }

  func read(_ text: String) throws -> [Certificate] { try Certificate.certificates(inPEM: text) }

  func expectMalformed(_ read: () throws -> Void, _ comment: Comment? = nil) {
    let error = #expect(throws: ReceiptError.self, comment) { try read() }
    #expect(error?.code == .malformed)
  }

  /// One block, its base 64 in a single line.
  func pem(_ bytes: [UInt8], newline: String = "\n") -> String {
    ["-----BEGIN CERTIFICATE-----", Base64.encode(bytes), "-----END CERTIFICATE-----", ""]
      .joined(separator: newline)
  }

  @Test("a certificate is written in lines of 64 columns between its two labels, and ends with a line end")
  func written() throws {
    let lines = root.pem.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.first == "-----BEGIN CERTIFICATE-----")
    #expect(lines.dropLast().last == "-----END CERTIFICATE-----")
    #expect(lines.last == "")
    let body = lines.dropFirst().dropLast(2)
    #expect(body.dropLast().allSatisfy { $0.utf8.count == 64 })
    #expect((1...64).contains(body.last?.utf8.count ?? 0))
    #expect(Base64.decode(body.joined()) == root.der)
    #expect(try read(root.pem) == [root])
  }

  @Test("several certificates are read in their order, whatever stands around them")
  func several() throws {
    let chain = [authority.leaf, authority.intermediate, authority.root]
    #expect(try read(authority.chainPEM) == chain)
    let described = chain.map { "Subject: somebody\n" + $0.pem + "\n\n" }.joined() + "the end"
    #expect(try read(described) == chain)
    let key = try authority.keyPEM()
    #expect(try read(key + authority.leaf.pem + key) == [authority.leaf])
    #expect(try read("") == [])
    #expect(try read(key) == [])
    #expect(try read("no certificate at all") == [])
  }

  @Test("line ends of every kind and lines of every length are read", arguments: ["\n", "\r\n", "\n\n"])
  func lineEnds(newline: String) throws {
    #expect(try read(pem(root.der, newline: newline)) == [root])
    #expect(try read(root.pem.replacing("\n", with: newline)) == [root])
    #expect(try read(String(root.pem.dropLast())) == [root], "the last line end may be missing")
  }

  @Test(
    "a block of certificate that holds none is malformed: nothing, no base 64, no certificate, one and a bit")
  func malformed() {
    for text in [
      pem([]), pem([0]), pem([0x30, 0x00]), pem(Array(root.der.dropLast())), pem(root.der + [0]),
      pem(root.der + root.der), pem([0] + root.der),
      "-----BEGIN CERTIFICATE-----\nnot base 64!\n-----END CERTIFICATE-----\n",
      "-----BEGIN CERTIFICATE-----\n\(Base64.encode(root.der)) \n-----END CERTIFICATE-----\n",
      "-----END CERTIFICATE-----\n", root.pem + "-----END CERTIFICATE-----\n", root.pem + pem([1]),
    ] {
      expectMalformed({ _ = try read(text) }, "\(text.prefix(60))")
    }
  }

  @Test("a certificate of which any octet is missing is none, and a changed one is none or another")
  func octets() {
    for length in 0..<root.der.count {
      expectMalformed { _ = try Certificate(der: Array(root.der[..<length])) }
    }
    var generator = SplitMix(seed: 23)
    for position in root.der.indices {
      var changed = root.der
      changed[position] ^= UInt8.random(in: 1...255, using: &generator)
      if let other = try? Certificate(der: changed) {  // a refusal is as good
        #expect(other != root)
      }
    }
  }

  @Test("the root that is asked for is not found in a certificate that only has its name")
  func sameName() throws {
    let stranger = try Fixtures.stranger.get()
    let receipt = try UnverifiedAppReceipt(encoded: stranger.signer.sign(Fixtures.receipt()))
    for roots in [[authority.root], [authority.root, root], [stranger.leaf], [stranger.intermediate]] {
      let error = #expect(throws: ReceiptError.self) {
        try receipt.verified(trusting: roots, now: Fixtures.now)
      }
      #expect(error?.code == .chainInvalid)
    }
    #expect(throws: Never.self) {
      try receipt.verified(trusting: [authority.root, stranger.root], now: Fixtures.now)
    }
  }

  @Test("an authority is three certificates and the key of the first, in one text or in two")
  func authorities() throws {
    let chain = authority.chainPEM
    let key = try authority.keyPEM()
    let both = try ReceiptAuthority(chainPEM: chain + key, keyPEM: chain + key)
    #expect(both.leaf == authority.leaf)
    #expect(both.intermediate == authority.intermediate)
    #expect(both.root == authority.root)
    for wrong in [
      "", authority.leaf.pem, authority.leaf.pem + authority.root.pem, chain + authority.root.pem, key,
    ] {
      expectMalformed { _ = try ReceiptAuthority(chainPEM: wrong, keyPEM: key) }
    }
    for wrong in ["", chain, key.replacing("PRIVATE", with: "PUBLIC"), String(key.dropLast(100)), "secret"] {
      expectMalformed { _ = try ReceiptAuthority(chainPEM: chain, keyPEM: wrong) }
    }
  }

  @Test("another certificate's key cannot sign")
  func anotherKey() throws {
    let mixed = try ReceiptAuthority(
      chainPEM: authority.chainPEM, keyPEM: Fixtures.stranger.get().keyPEM())
    let error = #expect(throws: ReceiptError.self) { try mixed.signer.sign(Fixtures.receipt()) }
    #expect(error?.code == .signingFailed)
  }

  @Test("keys that OpenSSL made are read as PKCS#8 and as PKCS#1; other kinds and locked ones are malformed")
  func keys() async throws {
    let tool = try OpenSSLTool(authority)
    let made: [(name: String, arguments: [String], isRead: Bool)] = [
      ("pkcs8.pem", ["pkey", "-in", "key.pem", "-out", "pkcs8.pem"], true),
      ("pkcs1.pem", ["rsa", "-in", "key.pem", "-traditional", "-out", "pkcs1.pem"], true),
      (
        "ec.pem",
        ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "ec.pem"], false
      ),
      ("ed25519.pem", ["genpkey", "-algorithm", "ed25519", "-out", "ed25519.pem"], false),
      ("public.pem", ["pkey", "-in", "key.pem", "-pubout", "-out", "public.pem"], false),
      (
        "locked.pem",
        ["pkcs8", "-topk8", "-in", "key.pem", "-passout", "pass:secret", "-out", "locked.pem"], false
      ),
    ]
    for (name, arguments, isRead) in made {
      try #require(await tool.run(arguments) == 0, "\(name)")
      let text = String(decoding: try tool.read(name), as: UTF8.self)
      if isRead {
        let restored = try ReceiptAuthority(chainPEM: authority.chainPEM, keyPEM: text)
        #expect(try restored.keyPEM() == authority.keyPEM(), "\(name)")
      } else {
        expectMalformed({ _ = try ReceiptAuthority(chainPEM: authority.chainPEM, keyPEM: text) }, "\(name)")
      }
    }
  }

  /// Strict verifiers of Apple's signatures accept certificates of another root only in this shape.
  @Test("certificates have the extensions that verifiers ask for, the markers NULL and not critical")
  func extensions() throws {
    let marker = { (arcs: [UInt8]) in
      DERTree.sequence([
        DERTree(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06] + arcs),
        .octetString([0x05, 0x00]),
      ])
    }
    let extensions = { (certificate: Certificate) -> [DERTree] in
      let body = DERTree(certificate.der)[[0]]
      return body.elements.first { $0.tag == 0xA3 }?.elements.first?.elements ?? []
    }
    /// Whether an extension of 2.5.29 is there, and critical.
    let isCritical = { (certificate: Certificate, arc: UInt8) -> Bool? in
      let found = extensions(certificate).first { $0.elements[0].octets == [0x55, 0x1D, arc] }
      return found.map { $0.elements[1] == DERTree(0x01, [0xFF]) }
    }
    #expect(extensions(authority.leaf).contains(marker([0x0B, 0x01])))
    #expect(!extensions(authority.leaf).contains(marker([0x02, 0x01])))
    #expect(extensions(authority.intermediate).contains(marker([0x02, 0x01])))
    #expect(!extensions(authority.intermediate).contains(marker([0x0B, 0x01])))
    for certificate in [authority.root, authority.intermediate, authority.leaf] {
      #expect(isCritical(certificate, 19) == true, "basic constraints")
      #expect(isCritical(certificate, 15) == true, "key usage")
      #expect(isCritical(certificate, 14) == false, "subject key identifier")
    }
    #expect(isCritical(authority.intermediate, 35) == false, "authority key identifier")
    #expect(isCritical(authority.leaf, 35) == false, "authority key identifier")
    let constraints = { (certificate: Certificate) in
      extensions(certificate).first { $0.elements[0].octets == [0x55, 0x1D, 19] }?.elements[2].octets
    }
    // SEQUENCE { TRUE }, SEQUENCE { TRUE, 0 }, SEQUENCE {}.
    #expect(constraints(authority.root) == [0x30, 0x03, 0x01, 0x01, 0xFF])
    #expect(constraints(authority.intermediate) == [0x30, 0x06, 0x01, 0x01, 0xFF, 0x02, 0x01, 0x00])
    #expect(constraints(authority.leaf) == [0x30, 0x00])
  }

  @Test("serial numbers are positive, long, and never the same")
  func serialNumbers() throws {
    let stranger = try Fixtures.stranger.get()
    let numbers = [authority, stranger].flatMap { [$0.root, $0.intermediate, $0.leaf] }.map {
      DERTree($0.der)[[0, 1]].octets
    }
    #expect(Set(numbers).count == 6)
    #expect(numbers.allSatisfy { $0.count == 16 && $0[0] & 0x80 == 0 })
  }

  @Test(
    "certificates count from the first to the last second of their validity, judged at the receipt's date")
  func validity() throws {
    var options = ReceiptAuthority.Options(now: Fixtures.now)
    let first = Fixtures.moment("2026-11-01T00:00:00Z")
    let last = Fixtures.moment("2026-11-20T00:00:00Z")
    options.leafValidity = first...last
    options.issuerValidity = Fixtures.moment("2026-10-01T00:00:00Z")...Fixtures.moment("2030-01-01T00:00:00Z")
    let brief = try ReceiptAuthority.generate(options)
    let verify = { (date: Timestamp) in
      var receipt = Fixtures.receipt()
      receipt.creationDate = date
      _ = try UnverifiedAppReceipt(encoded: brief.signer.sign(receipt))
        .verified(trusting: [brief.root], now: Fixtures.now)
    }
    for date in [first, first + .seconds(1), last - .seconds(1)] {
      #expect(throws: Never.self, "\(date)") { try verify(date) }
    }
    for date in [first - .seconds(1), last + .seconds(1), Fixtures.now] {
      let error = #expect(throws: ReceiptError.self, "\(date)") { try verify(date) }
      #expect(error?.code == .chainInvalid)
    }
  }

  @Test("an issuer that has ended at the receipt's date ends the chain, though its leaf has not")
  func issuerValidity() throws {
    var options = ReceiptAuthority.Options(now: Fixtures.now)
    options.issuerValidity = Fixtures.moment("2026-10-01T00:00:00Z")...Fixtures.moment("2026-11-20T00:00:00Z")
    let ended = try ReceiptAuthority.generate(options)
    let error = #expect(throws: ReceiptError.self) {
      try UnverifiedAppReceipt(encoded: ended.signer.sign(Fixtures.receipt()))
        .verified(trusting: [ended.root], now: Fixtures.now)
    }
    #expect(error?.code == .chainInvalid)
  }
}

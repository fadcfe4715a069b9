import CoreTypes
import Crypto
import PullboxTesting
import Testing

@testable import Receipts

@Suite("What no change of a receipt can achieve")
struct ReceiptPropertyTests {
  let root: Certificate
  let genuine: UnverifiedAppReceipt

  init() throws {
    root = try ReceiptVectors.root()
    genuine = try ReceiptVectors.receipt("production")
  }

  /// The receipt when it is accepted.
  func accepted(_ encoded: [UInt8], policy: ReceiptPolicy = ReceiptPolicy()) -> AppReceipt? {
    // A refusal is what is expected here; only a crash is not.
    try? UnverifiedAppReceipt(encoded: encoded).verified(
      trusting: [root], now: Fixtures.now, policy: policy
    ).receipt
  }

  @Test("a receipt of which any octet is another is refused")
  func flippedOctets() throws {
    var generator = SplitMix(seed: 17)
    let genuine = try ReceiptVectors.receipt("small").encoded
    #expect(accepted(genuine) != nil)
    var surviving: [Int] = []
    for position in genuine.indices {
      var changed = genuine
      changed[position] ^= UInt8.random(in: 1...255, using: &generator)
      if accepted(changed) != nil { surviving.append(position) }
    }
    #expect(surviving == [], "of \(genuine.count)")
  }

  @Test("a receipt with signed attributes, of which any octet is another, is refused as well")
  func flippedOctetsOfAttributes() throws {
    var generator = SplitMix(seed: 18)
    let genuine = try ReceiptVectors.receipt("signed-attributes").encoded
    #expect(accepted(genuine) != nil)
    // The end of the message, where the signer stands with the attributes and the signature.
    for position in genuine.indices.suffix(520) {
      var changed = genuine
      changed[position] ^= 1 << UInt8.random(in: 0...7, using: &generator)
      #expect(accepted(changed) == nil, "position \(position)")
    }
  }

  @Test("a receipt that ends early, at whichever octet, is malformed")
  func truncation() {
    for length in 0..<genuine.encoded.count {
      let error = #expect(throws: ReceiptError.self) {
        try UnverifiedAppReceipt(encoded: Array(genuine.encoded[..<length]))
      }
      #expect(error?.code == .malformed)
    }
  }

  @Test("a receipt in BER that ends early is malformed too")
  func truncatedBER() throws {
    let encoded = try ReceiptVectors.receipt("xcode").encoded
    for length in 0..<encoded.count {
      #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(encoded: Array(encoded[..<length])) }
    }
  }

  @Test("an octet more, or one less, anywhere, is never another receipt", arguments: [19, 20] as [UInt64])
  func insertions(seed: UInt64) {
    var generator = SplitMix(seed: seed)
    for _ in 0..<600 {
      var changed = genuine.encoded
      let position = Int.random(in: changed.indices, using: &generator)
      if Bool.random(using: &generator) {
        changed.insert(UInt8.random(in: 0...255, using: &generator), at: position)
      } else {
        changed.remove(at: position)
      }
      #expect(accepted(changed) == nil, "position \(position)")
    }
  }

  @Test(
    "elements removed, repeated, exchanged or made something else never make another receipt",
    arguments: 0..<8 as Range<UInt64>)
  func structures(seed: UInt64) {
    var generator = SplitMix(seed: seed)
    let tree = DERTree(genuine.encoded)
    let paths = tree.paths
    for _ in 0..<150 {
      var changed = tree
      let path = paths.randomElement(using: &generator) ?? []
      var siblings = tree[path.dropLast()].elements
      let index = path.last ?? 0
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: siblings.remove(at: index)
      case 1: siblings.insert(siblings[index], at: index)
      case 2: siblings.shuffle(using: &generator)
      case 3: siblings[index].tag = UInt8.random(in: 0...255, using: &generator)
      case 4: siblings[index] = tree[paths.randomElement(using: &generator) ?? []]
      default: siblings.insert(.null, at: Int.random(in: 0...siblings.count, using: &generator))
      }
      changed[Array(path.dropLast())].elements = siblings
      if let receipt = accepted(changed.encoded, policy: ReceiptPolicy(acceptsSHA1: true)) {
        #expect(receipt == genuine.claims, "at \(path)")
      }
    }
  }

  @Test(
    "payloads with elements removed, repeated or made something else are read or refused, and end",
    arguments: 0..<20 as Range<UInt64>)
  func payloads(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let payload = DERTree(DERTree(genuine.encoded)[CMSPath.payload].octets)
    let paths = payload.paths
    for _ in 0..<50 {
      var changed = payload
      let path = try #require(paths.randomElement(using: &generator))
      changed[path].tag = [0x02, 0x04, 0x0C, 0x16, 0x30, 0x31].randomElement(using: &generator) ?? 0
      do {
        let receipt = try AppReceipt(payload: changed.encoded)
        #expect(!receipt.bundleIdentifier.isEmpty)
      } catch {
        #expect((error as? ReceiptError)?.code == .malformed)
      }
    }
  }

  @Test("the transport form is standard base 64 with padding, in one line or in several, and nothing else")
  func transport() throws {
    let text = genuine.base64
    #expect(text == (try ReceiptVectors.base64("production")))
    let lines = String(text.prefix(64)) + "\n" + String(text.dropFirst(64))
    for form in [text, text + "\n", lines, lines.replacing("\n", with: "\r\n")] {
      #expect(try UnverifiedAppReceipt(base64: form) == genuine)
    }
    let wrong = [
      "", " " + text, text + "\t", text + "=", text + "====", String(text.dropLast()),
      lines.replacing("\n", with: " "), "data:;base64," + text,
      text.replacing("+", with: "-"), text.replacing("/", with: "_"), text.replacing("A", with: "À"),
      text.replacing("=", with: ""), String(text.reversed()),
    ]
    for form in wrong {
      let error = #expect(throws: ReceiptError.self, "\(form.prefix(20))") {
        try UnverifiedAppReceipt(base64: form)
      }
      #expect(error?.code == .malformed)
    }
  }

  @Test("a transaction receipt of before iOS 7 is malformed, in base 64 and without")
  func transactionReceipt() {
    let old = """
      {
      \t"signature" = "bm8gcmVhbCBzaWduYXR1cmUsIG9mIHRoZSBsZW5ndGggb2Ygc29tZQ==";
      \t"purchase-info" = "ewoJInRyYW5zYWN0aW9uLWlkIiA9ICIxMDAwMDAwMDAwMDAwMDAxIjsKfQo=";
      \t"environment" = "Sandbox";
      \t"pod" = "100";
      \t"signing-status" = "0";
      }
      """
    for form in [old, Base64.encode(Array(old.utf8))] {
      let error = #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(base64: form) }
      #expect(error?.code == .malformed)
    }
  }

  @Test("a receipt as long as verifyReceipt takes is looked at, a longer one is not")
  func longest() throws {
    #expect(UnverifiedAppReceipt.maximumBase64Length == 3_145_728)
    let limit = UnverifiedAppReceipt.maximumBase64Length
    let tooLong = #expect(throws: ReceiptError.self) {
      try UnverifiedAppReceipt(base64: String(repeating: "A", count: limit + 4))
    }
    #expect(tooLong?.message.contains("too long") == true)
    let octets = #expect(throws: ReceiptError.self) {
      try UnverifiedAppReceipt(encoded: [UInt8](repeating: 0x30, count: limit / 4 * 3 + 1))
    }
    #expect(octets?.message == "the receipt is too long")
    // A receipt of some 700 kB, seven times the largest that was seen.
    let authority = try Fixtures.authority.get()
    let receipt = Fixtures.receipt((0..<3000).map { Fixtures.purchase(String(100_000 + $0)) })
    let encoded = try authority.signer.sign(receipt)
    let verified = try UnverifiedAppReceipt(base64: Base64.encode(encoded)).verified(
      trusting: [authority.root], now: Fixtures.now)
    #expect(verified.purchases == receipt.purchases)
  }
}

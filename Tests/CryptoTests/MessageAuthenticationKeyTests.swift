import Crypto
import Testing

@Suite struct MessageAuthenticationKeyTests {
  struct Vector: Sendable {
    let key: [UInt8]
    let message: [UInt8]
    /// The first bytes of the MAC, in test case 5 not all of them.
    let code: String

    init(_ key: [UInt8], _ message: [UInt8], _ code: String) {
      self.key = key
      self.message = message
      self.code = code
    }

    init(_ key: [UInt8], _ message: String, _ code: String) {
      self.init(key, Array(message.utf8), code)
    }
  }

  /// RFC 4231 section 4, in its order.
  static let vectors = [
    Vector(
      bytes(0x0B, 20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    Vector(
      Array("Jefe".utf8), "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    Vector(
      bytes(0xAA, 20), bytes(0xDD, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    Vector(
      Array(1...25), bytes(0xCD, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    Vector(bytes(0x0C, 20), "Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
    Vector(
      bytes(0xAA, 131), "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
    Vector(
      bytes(0xAA, 131),
      "This is a test using a larger than block-size key and a larger than block-size data. "
        + "The key needs to be hashed before being used by the HMAC algorithm.",
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
  ]

  private static func bytes(_ byte: UInt8, _ count: Int) -> [UInt8] { Array(repeating: byte, count: count) }

  @Test("the test cases of RFC 4231 come out, wherever the message is cut in two", arguments: vectors)
  func rfc4231(vector: Vector) {
    let key = MessageAuthenticationKey(secret: vector.key)
    for cut in 0...vector.message.count {
      let code = key.authenticate(
        vector.message.span.extracting(first: cut), vector.message.span.extracting(droppingFirst: cut))
      #expect(code.hexadecimal.hasPrefix(vector.code))
    }
  }

  @Test("a secret of exactly one block is not hashed first") func blockLength() {
    // By RFC 2104 a longer secret stands for its digest.
    let long = Self.bytes(0x0B, 65)
    let empty: [UInt8] = []
    let message = Array("message".utf8)
    func code(_ secret: [UInt8]) -> SHA256Digest {
      MessageAuthenticationKey(secret: secret).authenticate(message.span, empty.span)
    }
    #expect(code(long) == code(SHA256Digest.of(long).array))
    #expect(code(Array(long.prefix(64))) != code(SHA256Digest.of(long.prefix(64)).array))
    #expect(code(Self.bytes(1, 10)) == code(Self.bytes(1, 10) + Self.bytes(0, 54)))
  }

  @Test("equality looks at every byte and at the length") func equality() {
    let left: [UInt8] = [1, 2, 3]
    let others: [[UInt8]] = [[0, 2, 3], [1, 2, 2], [1, 2], [1, 2, 3, 0], []]
    let same: [UInt8] = [1, 2, 3]
    let isSameEqual = equalInConstantTime(left.span, same.span)
    #expect(isSameEqual)
    for other in others {
      let isEqual = equalInConstantTime(left.span, other.span)
      #expect(!isEqual)
    }
  }
}

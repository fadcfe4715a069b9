import Crypto
import Foundation
import Testing

@Suite struct SigningKeyTests {
  struct Vector: Sendable {
    let seed: String
    let publicKey: String
    let message: String
    let signature: String
  }

  /// RFC 8032 section 7.1, TEST 1 to 3.
  static let vectors = [
    Vector(
      seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      message: "",
      signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
        + "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
    Vector(
      seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      message: "72",
      signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
    Vector(
      seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      message: "af82",
      signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
  ]

  @Test("the tests of RFC 8032 come out", arguments: vectors) func rfc8032(vector: Vector) throws {
    let seed = try #require(Hexadecimal.decode(vector.seed))
    let message = try #require(Hexadecimal.decode(vector.message))
    let key = try #require(SigningKey(seed: seed))
    #expect(key.seed == seed)
    #expect(Hexadecimal.encode(key.verificationKey.bytes) == vector.publicKey)
    let signature = key.sign(message)
    #expect(Hexadecimal.encode(signature) == vector.signature)
    #expect(key.verificationKey.isValid(signature: signature, for: message))
  }

  @Test("a signature holds for its message, its key and all of its bytes only") func refusals() {
    let key = SigningKey()
    let message = Array("message".utf8)
    let signature = key.sign(message)
    #expect(!key.verificationKey.isValid(signature: signature, for: message + [0]))
    #expect(!SigningKey().verificationKey.isValid(signature: signature, for: message))
    #expect(!key.verificationKey.isValid(signature: Array(signature.dropLast()), for: message))
    #expect(!key.verificationKey.isValid(signature: signature + [0], for: message))
    #expect(!key.verificationKey.isValid(signature: [], for: message))
    for index in signature.indices {
      var changed = signature
      changed[index] ^= 1
      #expect(!key.verificationKey.isValid(signature: changed, for: message))
    }
    // A text that was refused leaves nothing behind that the next one stumbles over.
    #expect(key.verificationKey.isValid(signature: signature, for: message))
  }

  @Test("a key comes back from its seed; fresh ones differ") func seeds() throws {
    let key = SigningKey()
    #expect(SigningKey(seed: key.seed)?.verificationKey == key.verificationKey)
    #expect(SigningKey().seed != key.seed)
    #expect(SigningKey(seed: []) == nil)
    #expect(SigningKey(seed: [UInt8](repeating: 0, count: 33)) == nil)
  }

  @Test("a public key travels as base64url, and is read in either alphabet") func text() throws {
    let bytes = [UInt8](repeating: 0xFB, count: 32)
    let key = try #require(VerificationKey(bytes))
    #expect(key.text == String(repeating: "-_v7", count: 10) + "-_s")
    #expect(VerificationKey(text: String(repeating: "+/v7", count: 10) + "+/s=") == key)
    #expect(VerificationKey(text: String(key.text.dropLast())) == nil)
    #expect(VerificationKey(text: "") == nil)
    let data = try JSONEncoder().encode([key])
    #expect(try JSONDecoder().decode([VerificationKey].self, from: data) == [key])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([VerificationKey].self, from: Data(#"["short"]"#.utf8))
    }
  }

  @Test("bytes that are no point of the curve verify nothing") func noPoint() {
    let signature = [UInt8](repeating: 0, count: 64)
    #expect(
      VerificationKey([UInt8](repeating: 0xFF, count: 32))?.isValid(signature: signature, for: []) == false)
  }

  /// Points of order 1, 2, 4 and 8, encoded as RFC 8032 §5.1.2 says. With R = [S]B the equation of a signature holds under such a key wherever
  /// the digest of R, key and message is a multiple of the order: for each eighth message at least. R is the neutral point, for S = 0, and the base point, for S = 1.
  @Test(
    "a key of small order verifies nothing",
    arguments: [
      "0100000000000000000000000000000000000000000000000000000000000000",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0000000000000000000000000000000000000000000000000000000000000080",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    ])
  func smallOrder(text: String) throws {
    let bytes = try #require(Hexadecimal.decode(text))
    let key = try #require(VerificationKey(bytes))
    let zero = [UInt8](repeating: 0, count: 31)
    let neutral = [1] + zero + [0] + zero
    let base = [0x58] + [UInt8](repeating: 0x66, count: 31) + [1] + zero
    for message in (UInt8.min...UInt8.max).map({ [$0] }) {
      #expect(!key.isValid(signature: neutral, for: message))
      #expect(!key.isValid(signature: base, for: message))
    }
  }

  /// RFC 8032 §5.1.7: S is below the order of the group. The vector of TEST 1, with the order added to S.
  @Test("a signature has one form: S is below the order of the group") func malleable() throws {
    let vector = Self.vectors[0]
    let order = try #require(
      Hexadecimal.decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"))
    var signature = try #require(Hexadecimal.decode(vector.signature))
    var carry = 0
    for index in order.indices {
      let sum = Int(signature[32 + index]) + Int(order[index]) + carry
      signature[32 + index] = UInt8(truncatingIfNeeded: sum)
      carry = sum >> 8
    }
    #expect(carry == 0)
    let publicKey = try #require(Hexadecimal.decode(vector.publicKey))
    let key = try #require(VerificationKey(publicKey))
    #expect(!key.isValid(signature: signature, for: []))
  }
}

import Crypto
import Testing

@Suite("Keys of ES256")
struct ES256KeyTests {
  /// The key of RFC 7515 appendix A.3 in PKCS #8.
  private func known() throws -> ES256Key {
    let parts = [
      "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI", "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    ]
    let (d, x, y) = try (bytes(parts[0]), bytes(parts[1]), bytes(parts[2]))
    let head: [UInt8] = [
      0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
      0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x04, 0x6D, 0x30, 0x6B, 0x02, 0x01, 0x01,
      0x04, 0x20,
    ]
    let encoded = head + d + [0xA1, 0x44, 0x03, 0x42, 0x00, 0x04] + x + y
    return try #require(ES256Key(pem: PEMDocument(label: "PRIVATE KEY", bytes: encoded).text))
  }

  private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64.decode(text, .url)) }

  @Test("the signature of RFC 7515 appendix A.3 is valid, and no other")
  func knownSignature() throws {
    let input =
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let signature = try bytes(
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
    let key = try known()
    #expect(key.isValid(signature: signature, for: Array(input.utf8)))
    #expect(!key.isValid(signature: signature, for: Array("\(input)A".utf8)))
    #expect(!key.isValid(signature: signature.dropLast(), for: Array(input.utf8)))
    #expect(!key.isValid(signature: [UInt8](repeating: 0, count: 64), for: Array(input.utf8)))
    #expect(!ES256Key().isValid(signature: signature, for: Array(input.utf8)))
  }

  @Test("a key that was written is read again, and its signatures have 64 bytes")
  func written() throws {
    let key = ES256Key()
    let read = try #require(ES256Key(pem: key.pem))
    let signature = key.sign([1, 2, 3])
    #expect(signature.count == 64)
    #expect(read.isValid(signature: signature, for: [1, 2, 3]))
    #expect(try known().pem == known().pem)
  }

  @Test(
    "a signature whose numbers begin with zeros has 64 bytes and is valid; one in DER, or a byte longer, is not"
  )
  func leadingZeros() throws {
    let key = ES256Key()
    var seen = (first: false, second: false)
    for number in 0..<20_000 where !(seen.first && seen.second) {
      let message = Array("\(number)".utf8)
      let signature = key.sign(message)
      guard signature[0] == 0 || signature[32] == 0 else { continue }
      if signature[0] == 0 { seen.first = true } else { seen.second = true }
      #expect(signature.count == 64 && key.isValid(signature: signature, for: message))
      #expect(!key.isValid(signature: [0] + signature, for: message))
      #expect(!key.isValid(signature: [0x30, 62] + signature[2...], for: message))
    }
    #expect(seen == (true, true))
  }

  @Test("the public key of RFC 7515 appendix A.3 verifies its signature; one with bytes behind it is none")
  func publicKey() throws {
    let head: [UInt8] = [
      0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
      0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    let encoded =
      try head + bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
      + bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
    let key = try #require(ES256PublicKey(subjectPublicKeyInfo: encoded))
    let message = Array("a".utf8)
    let signature = try known().sign(message)
    #expect(key.isValid(signature: signature, for: message))
    #expect(!key.isValid(signature: signature, for: [0x62]))
    #expect(ES256PublicKey(subjectPublicKeyInfo: encoded + [0]) == nil)
    #expect(ES256PublicKey(subjectPublicKeyInfo: Array(encoded.dropLast())) == nil)
    #expect(ES256PublicKey(subjectPublicKeyInfo: []) == nil)
  }

  @Test("a key of another kind, and what is no key, are refused")
  func refused() {
    #expect(ES256Key(pem: SigningKey().pem) == nil)
    #expect(ES256Key(pem: PEMDocument(label: "PRIVATE KEY", bytes: [0x30, 0x00]).text) == nil)
    #expect(ES256Key(pem: "") == nil)
  }
}

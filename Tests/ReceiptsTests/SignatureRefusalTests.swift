import Crypto
import PullboxTesting
import Testing

@testable import Receipts

/// The signatures of devices' completion reports: RFC 7515, RFC 8037, and RFC 8725 on what goes wrong.
@Suite("Signatures that are not accepted")
struct SignatureRefusalTests {
  /// RFC 8037, appendix A.1.
  let seed = Base64.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", .url) ?? []
  let publicKey = Base64.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", .url) ?? []

  func key() throws -> SigningKey { try #require(SigningKey(seed: seed)) }

  func segment(_ text: String) -> String { Base64.encode(Array(text.utf8), .url) }

  /// Signs whatever header with the right key.
  func signed(header: String, payload: String = "{}") throws -> String {
    let input = segment(header) + "." + segment(payload)
    return input + "." + Base64.encode(try key().sign(Array(input.utf8)), .url)
  }

  func expectMalformed(_ text: String, maximumLength: Int = JSONWebSignature.maximumLength) {
    let error = #expect(throws: ReceiptError.self, "\(text.prefix(60))") {
      try JSONWebSignature(text: text, maximumLength: maximumLength)
    }
    #expect(error?.code == .malformed)
  }

  /// Made with `openssl pkeyutl -sign -rawin` and the key of RFC 8037 over base64url segments of
  /// `{"alg":"EdDSA","kid":"reader-1","typ":"completion"}` and `{"outcome":"placed","grant":"g1"}`.
  @Test("a signature that OpenSSL made verifies")
  func fromOpenSSL() throws {
    let text =
      "eyJhbGciOiJFZERTQSIsImtpZCI6InJlYWRlci0xIiwidHlwIjoiY29tcGxldGlvbiJ9"
      + ".eyJvdXRjb21lIjoicGxhY2VkIiwiZ3JhbnQiOiJnMSJ9"
      + ".YXJ7AEdHjt52JAnq0mBNDgEdCsgQwW4kb2iTXM0Vvj5y7O_L2b2AmB9A3tAp7BSskqPH4CXwjziRZAR7E9-ODg"
    let signature = try JSONWebSignature(text: text)
    #expect(signature.keyIdentifier == "reader-1")
    let key = try #require(VerificationKey(publicKey))
    #expect(
      try signature.payload(verifiedWith: key) == Array(#"{"outcome":"placed","grant":"g1"}"#.utf8))
  }

  @Test(
    "an algorithm of the sender's choice is malformed, before any key is looked at",
    arguments: [
      "none", "None", "NONE", "", "HS256", "HS512", "RS256", "PS256", "ES256", "ES256K", "Ed25519", "Ed448",
      "eddsa", "EDDSA", "EdDSA ", " EdDSA", "EdDSA\\u0000", "dir", "RSA-OAEP",
    ])
  func algorithms(name: String) throws {
    expectMalformed(try signed(header: #"{"alg":"\#(name)"}"#))
    expectMalformed(segment(#"{"alg":"\#(name)"}"#) + "." + segment("{}") + ".")
  }

  @Test("a MAC made with the public key for a secret is not taken for a signature by its owner")
  func confusedKeys() throws {
    for algorithm in ["HS256", "EdDSA"] {
      let input = segment(#"{"alg":"\#(algorithm)"}"#) + "." + segment("{}")
      let message = Array(input.utf8)
      let nothing: [UInt8] = []
      let code = MessageAuthenticationKey(secret: publicKey).authenticate(message.span, nothing.span).array
      expectMalformed(input + "." + Base64.encode(code, .url))
      // At the length of a signature only the key can tell.
      let padded = input + "." + Base64.encode(code + code, .url)
      guard algorithm == "EdDSA" else {
        expectMalformed(padded)
        continue
      }
      let forged = try JSONWebSignature(text: padded)
      let error = #expect(throws: ReceiptError.self) {
        try forged.payload(verifiedWith: key().verificationKey)
      }
      #expect(error?.code == .signatureInvalid)
    }
  }

  @Test("a key that the header brings along is not the key that counts")
  func embeddedKey() throws {
    let own = SigningKey()
    let header =
      #"{"alg":"EdDSA","jwk":{"kty":"OKP","crv":"Ed25519","x":"\#(own.verificationKey.text)"}}"#
    let input = segment(header) + "." + segment("{}")
    let text = input + "." + Base64.encode(own.sign(Array(input.utf8)), .url)
    let forged = try JSONWebSignature(text: text)
    let error = #expect(throws: ReceiptError.self) { try forged.payload(verifiedWith: key().verificationKey) }
    #expect(error?.code == .signatureInvalid)
  }

  @Test(
    "extensions that must be understood are not, and a payload is always in base 64 (RFC 7797)",
    arguments: [
      #"{"alg":"EdDSA","crit":["b64"],"b64":false}"#, #"{"alg":"EdDSA","crit":["b64"],"b64":true}"#,
      #"{"alg":"EdDSA","b64":false}"#, #"{"alg":"EdDSA","b64":true}"#, #"{"alg":"EdDSA","b64":"false"}"#,
      #"{"alg":"EdDSA","crit":[]}"#, #"{"alg":"EdDSA","crit":["alg"]}"#, #"{"alg":"EdDSA","crit":"exp"}"#,
      #"{"alg":"EdDSA","crit":{}}"#,
    ])
  func extensions(header: String) throws {
    expectMalformed(try signed(header: header))
  }

  @Test(
    "a header is one JSON object with text for its algorithm and its key",
    arguments: [
      "", "{", "null", "[]", #""EdDSA""#, #"{"alg":null}"#, #"{"alg":1}"#, #"{"ALG":"EdDSA"}"#,
      #"{"alg":"EdDSA","kid":7}"#, #"{"alg":"EdDSA","kid":["a"]}"#, #"{"alg":"EdDSA"}{"alg":"EdDSA"}"#,
      #"{"alg":"EdDSA"} x"#, #"{"alg":{"alg":"EdDSA"}}"#,
    ])
  func headers(header: String) throws {
    expectMalformed(try signed(header: header))
  }

  @Test(
    "the key's name is what the header says, whatever characters it has, and none is none",
    arguments: [
      (#"{"alg":"EdDSA"}"#, nil), (#"{"alg":"EdDSA","kid":""}"#, ""), (#"{"kid":"a","alg":"EdDSA"}"#, "a"),
      (#"{"alg":"EdDSA","kid":"../../key"}"#, "../../key"), (#"{"alg":"EdDSA","kid":"\u00e9\n"}"#, "é\n"),
      (#" { "alg" : "EdDSA" , "kid" : "a b" } "#, "a b"), (#"{"alg":"EdDSA","typ":"JWT","kid":"a"}"#, "a"),
    ] as [(String, String?)])
  func keyIdentifiers(header: String, name: String?) throws {
    let signature = try JSONWebSignature(text: signed(header: header))
    #expect(signature.keyIdentifier == name)
    #expect(try signature.payload(verifiedWith: key().verificationKey) == Array("{}".utf8))
  }

  @Test("a key's name goes through signing and reading unchanged, quotes, slashes and line ends included")
  func writtenKeyIdentifiers() throws {
    for name in ["", "a", #"a"b\c/d"#, "é\n\u{1}", String(repeating: "k", count: 1000)] {
      let signed = try JSONWebSignature(signing: [7], with: key(), keyIdentifier: name)
      #expect(try JSONWebSignature(text: signed.text).keyIdentifier == name)
    }
  }

  @Test("a signature has 64 octets", arguments: [0, 1, 31, 32, 63, 65, 70, 72, 128])
  func signatureLength(count: Int) {
    let signature = Base64.encode([UInt8](repeating: 0x30, count: count), .url)
    expectMalformed(segment(#"{"alg":"EdDSA"}"#) + "." + segment("{}") + "." + signature)
  }

  @Test("a changed bit anywhere in a signature makes it invalid or malformed")
  func flippedSignature() throws {
    let text = try signed(header: #"{"alg":"EdDSA"}"#)
    let parts = text.split(separator: ".")
    let genuine = try #require(Base64.decode(parts[2], .url))
    for bit in 0..<512 {
      var changed = genuine
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      let forged = try JSONWebSignature(text: "\(parts[0]).\(parts[1]).\(Base64.encode(changed, .url))")
      #expect(throws: ReceiptError.self, "bit \(bit)") {
        try forged.payload(verifiedWith: key().verificationKey)
      }
    }
  }

  @Test(
    "a signature with the group's order added to its second half is invalid (RFC 8032 §5.1.7)"
  )
  func malleability() throws {
    let parts = try signed(header: #"{"alg":"EdDSA"}"#).split(separator: ".")
    var signature = try #require(Base64.decode(parts[2], .url))
    // 2^252 + 27742317777372353535851937790883648493, the least significant octet first.
    let order: [UInt8] =
      [0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9, 0xDE, 0x14]
      + [UInt8](repeating: 0, count: 15) + [0x10]
    var carry = 0
    for index in 0..<32 {
      let sum = Int(signature[32 + index]) + Int(order[index]) + carry
      signature[32 + index] = UInt8(sum & 0xFF)
      carry = sum >> 8
    }
    try #require(carry == 0)
    let forged = try JSONWebSignature(text: "\(parts[0]).\(parts[1]).\(Base64.encode(signature, .url))")
    let error = #expect(throws: ReceiptError.self) { try forged.payload(verifiedWith: key().verificationKey) }
    #expect(error?.code == .signatureInvalid)
  }

  @Test("base 64 has one spelling: no padding, no other alphabet, no stray bits, no white space")
  func spellings() throws {
    let text = try signed(header: #"{"alg":"EdDSA"}"#, payload: "{}?>")
    let parts = text.split(separator: ".").map(String.init)
    #expect(throws: Never.self) { try JSONWebSignature(text: text) }
    for index in 0..<3 {
      for tail in ["=", "==", " ", "\n", "\r\n", "\t", "\0", "A", "+", "/", "é", ".", "\u{301}", "%3D"] {
        var changed = parts
        changed[index] += tail
        let joined = changed.joined(separator: ".")
        if tail == "A" {
          // May still be base 64; the signature then covers something else.
          let read = try? JSONWebSignature(text: joined)
          #expect((try? read?.payload(verifiedWith: key().verificationKey)) == nil)
        } else {
          expectMalformed(joined)
        }
      }
    }
    // 64 octets leave four unused bits in the last character: 16 spellings if they were not looked at.
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let character = try #require(parts[2].last)
    let last = try #require(alphabet.firstIndex(of: character))
    #expect(last % 16 == 0)
    for stray in 1..<16 {
      expectMalformed("\(parts[0]).\(parts[1]).\(parts[2].dropLast())\(alphabet[last + stray])")
    }
  }

  @Test("what is signed is the text of both segments, so neither can be exchanged for an equal one")
  func segments() throws {
    // The same header, spelled with a space.
    let one = try signed(header: #"{"alg":"EdDSA"}"#).split(separator: ".")
    let spaced = segment(#"{"alg": "EdDSA"}"#)
    let forged = try JSONWebSignature(text: "\(spaced).\(one[1]).\(one[2])")
    #expect(throws: ReceiptError.self) { try forged.payload(verifiedWith: key().verificationKey) }
    // Header and payload exchanged, where both are objects with an algorithm.
    let twin = try signed(header: #"{"alg":"EdDSA"}"#, payload: #"{"alg":"EdDSA","a":1}"#)
      .split(separator: ".")
    let exchanged = try JSONWebSignature(text: "\(twin[1]).\(twin[0]).\(twin[2])")
    #expect(throws: ReceiptError.self) { try exchanged.payload(verifiedWith: key().verificationKey) }
  }

  @Test("an empty payload is a payload, and every octet comes back")
  func payloads() throws {
    for payload in [[], [0], Array(UInt8.min...UInt8.max)] {
      let signed = try JSONWebSignature(signing: payload, with: key())
      #expect(try JSONWebSignature(text: signed.text).payload(verifiedWith: key().verificationKey) == payload)
    }
  }

  @Test("a signature as long as is allowed is read, one character more is not")
  func lengths() throws {
    let text = try signed(header: #"{"alg":"EdDSA"}"#)
    #expect(throws: Never.self) { try JSONWebSignature(text: text, maximumLength: text.utf8.count) }
    expectMalformed(text, maximumLength: text.utf8.count - 1)
    #expect(JSONWebSignature.maximumLength == 65_536)
    // 20 characters of header, 86 of signature, two dots: 65,428 are left, three octets for every four.
    let fits = try signed(header: #"{"alg":"EdDSA"}"#, payload: String(repeating: "p", count: 49_071))
    #expect(fits.utf8.count == 65_536)
    #expect(throws: Never.self) { try JSONWebSignature(text: fits) }
    expectMalformed(try signed(header: #"{"alg":"EdDSA"}"#, payload: String(repeating: "p", count: 49_072)))
    #expect(throws: ReceiptError.self) {
      try JSONWebSignature(signing: [UInt8](repeating: 7, count: 49_072), with: key())
    }
  }

  @Test("deep nesting in a header is malformed, not a trap")
  func nesting() throws {
    for piece in ["[", #"{"a":"#] {
      expectMalformed(try signed(header: String(repeating: piece, count: 5000)))
      expectMalformed(try signed(header: #"{"alg":"EdDSA","x":"# + String(repeating: piece, count: 5000)))
    }
  }

  @Test(
    "a signature that is cut off at any length is malformed, and noise never verifies",
    arguments: 0..<20 as Range<UInt64>)
  func garbage(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let text = try signed(header: #"{"alg":"EdDSA","kid":"reader-1"}"#, payload: #"{"outcome":"placed"}"#)
    expectMalformed(String(text.prefix(Int.random(in: 0..<text.count, using: &generator))))
    let alphabet = Array("ABab01-_.={}\"\n é")
    for _ in 0..<100 {
      expectMalformed(
        String(
          (0..<Int.random(in: 0...200, using: &generator)).map { _ in
            alphabet.randomElement(using: &generator) ?? "."
          }))
      var changed = Array(text.utf8)
      changed[Int.random(in: changed.indices, using: &generator)] = UInt8.random(
        in: 0...127, using: &generator)
      guard changed != Array(text.utf8) else { continue }
      let read = try? JSONWebSignature(text: String(decoding: changed, as: UTF8.self))
      #expect((try? read?.payload(verifiedWith: key().verificationKey)) == nil)
    }
  }

  @Test("a description names the key and nothing that was signed")
  func description() throws {
    let signed = try JSONWebSignature(signing: Array("secret".utf8), with: key(), keyIdentifier: "reader-1")
    #expect("\(signed)" == "JSON Web Signature of reader-1")
    #expect("\(try JSONWebSignature(signing: [1], with: key()))" == "JSON Web Signature of an unnamed key")
  }
}

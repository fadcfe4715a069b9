import Crypto
import Testing

@testable import Receipts

@Suite("Compact JSON Web Signatures with Ed25519")
struct JSONWebSignatureTests {
  /// RFC 8037, appendix A.1 and A.4.
  let seed = Base64.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", .url) ?? []
  let example =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
    + "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

  func key() throws -> SigningKey { try #require(SigningKey(seed: seed)) }

  @Test("the example of RFC 8037 verifies, and is what we write")
  func example8037() throws {
    let signature = try JSONWebSignature(text: example)
    let payload = try signature.payload(verifiedWith: key().verificationKey)
    #expect(payload == Array("Example of Ed25519 signing".utf8))
    #expect(try JSONWebSignature(signing: payload, with: key()).text == example)
  }

  @Test("the key identifier travels in the header")
  func keyIdentifier() throws {
    let signed = try JSONWebSignature(signing: [1], with: key(), keyIdentifier: "reader-1")
    let read = try JSONWebSignature(text: signed.text)
    #expect(read.keyIdentifier == "reader-1")
    #expect(try read.payload(verifiedWith: key().verificationKey) == [1])
  }

  @Test("another key's signature is invalid, and so is a changed payload or header")
  func invalid() throws {
    let signed = try JSONWebSignature(signing: Array("{}".utf8), with: key(), keyIdentifier: "a")
    #expect(throws: ReceiptError.self) { try signed.payload(verifiedWith: SigningKey().verificationKey) }
    let other = try JSONWebSignature(signing: Array("[]".utf8), with: key(), keyIdentifier: "b")
    let parts = signed.text.split(separator: ".")
    let otherParts = other.text.split(separator: ".")
    for mixed in [[otherParts[0], parts[1], parts[2]], [parts[0], otherParts[1], parts[2]]] {
      let forged = try JSONWebSignature(text: mixed.joined(separator: "."))
      let error = #expect(throws: ReceiptError.self) {
        try forged.payload(verifiedWith: key().verificationKey)
      }
      #expect(error?.code == .signatureInvalid)
    }
  }

  @Test(
    "headers that ask for anything but EdDSA are malformed",
    arguments: [
      #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":"ES256"}"#, #"{"alg":"eddsa"}"#, #"{}"#, #"[]"#, "",
      #"{"alg":"EdDSA","crit":["exp"]}"#, #"{"alg":"EdDSA","b64":false}"#, #"{"alg":["EdDSA"]}"#,
      #"{"alg":"EdDSA","alg":"none"}"#, #"{"alg":"EdDSA","kid":"a","k\u0069d":"b"}"#,
    ])
  func headers(header: String) throws {
    let input = Base64.encode(Array(header.utf8), .url) + "." + Base64.encode(Array("{}".utf8), .url)
    let signature = Base64.encode(try key().sign(Array(input.utf8)), .url)
    let error = #expect(throws: ReceiptError.self) { try JSONWebSignature(text: input + "." + signature) }
    #expect(error?.code == .malformed)
  }

  @Test("anything but three segments of unpadded base64url with 64 octets of signature is malformed")
  func shapes() throws {
    let parts = example.split(separator: ".").map(String.init)
    let wrong = [
      "", ".", "..", "...", parts[0] + "." + parts[1], example + ".", "." + example, example + ".x",
      parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1] + ".AAAA", example + "=", example + " ",
      example.replacing("_", with: "/"), example + "\n",
      String(repeating: "A", count: JSONWebSignature.maximumLength) + "." + parts[1] + "." + parts[2],
    ]
    for text in wrong {
      let error = #expect(throws: ReceiptError.self, "\(text.prefix(40))") {
        try JSONWebSignature(text: text)
      }
      #expect(error?.code == .malformed)
    }
  }
}

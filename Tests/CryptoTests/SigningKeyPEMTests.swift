import Testing

@testable import Crypto

@Suite("Keys in PEM")
struct SigningKeyPEMTests {
  /// RFC 8410 §10.3 and §10.1: a key, and its public half.
  private let secret = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
    -----END PRIVATE KEY-----

    """
  private let open = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
    -----END PUBLIC KEY-----

    """

  @Test("the key of RFC 8410 is read and written, and has its public key")
  func vector() throws {
    let key = try #require(SigningKey(pem: secret))
    #expect(key.pem == secret)
    #expect(key.verificationKey.pem == open)
  }

  @Test("other documents, other keys and damaged ones are none")
  func refused() {
    #expect(SigningKey(pem: open) == nil)
    #expect(SigningKey(pem: "") == nil)
    #expect(SigningKey(pem: secret.replacing("MC4C", with: "MC4D")) == nil)
    #expect(SigningKey(pem: secret.replacing("VhC\n", with: "Vh\n")) == nil)
    #expect(SigningKey(pem: secret + secret) == nil)
    #expect(SigningKey(pem: secret.replacing("PRIVATE", with: "EC PRIVATE")) == nil)
  }
}

import Commerce
import Crypto
import PackageTesting
import Testing

@testable import ContentPackage

@Suite("Publishers' signatures")
struct SignaturePolicyTests {
  private let manifest = Array(#"{"format":"pullbox-manifest/1"}"#.utf8)
  private let old = Self.key(1)
  private let new = Self.key(2)

  private static func key(_ byte: UInt8) -> SigningKey {
    SigningKey(seed: [UInt8](repeating: byte, count: 32)) ?? SigningKey()
  }

  private func id(_ key: SigningKey) -> PublisherKeyIdentifier { key.verificationKey.publisherKeyIdentifier }

  private func signature(_ key: SigningKey) -> PublisherSignature {
    PublisherSignature(signing: manifest, with: key)
  }

  private func codes(_ trust: SignaturePolicy, _ signatures: [PublisherSignature]) throws
    -> [PackageValidationIssue
    .Code]
  {
    try refusalCodes { _ = try trust.signers(of: manifest, signatures: signatures) }
  }

  @Test("the key's name is the SHA-256 of its 32 bytes, and what is signed begins with what it is for")
  func form() throws {
    // RFC 8032 §7.1, test 1: the public key; its digest by sha256sum.
    let seed = Hexadecimal.decode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    let key = try #require(SigningKey(seed: seed ?? []))
    #expect(id(key).description == SHA256Digest.of(key.verificationKey.bytes).hexadecimal)
    let signature = PublisherSignature(signing: manifest, with: key)
    let value = try #require(Base64.decode(signature.value, .url))
    let message = Array("pullbox publisher signature of pullbox-manifest/1\0".utf8) + manifest
    #expect(key.verificationKey.isValid(signature: value, for: message))
    #expect(!key.verificationKey.isValid(signature: value, for: manifest))
  }

  @Test("a signature made without the context is none")
  func domain() throws {
    var bare = signature(old)
    bare.value = Base64.encode(old.sign(manifest), .url)
    #expect(try codes(SignaturePolicy(named: [id(old)]), [bare]) == [.signatureInvalid])
  }

  @Test("no single changed bit of the manifest, the signature, the key or its name is accepted")
  func flippedBits() throws {
    let good = signature(old)
    let trust = SignaturePolicy(named: [id(old)])
    #expect(try trust.signers(of: manifest, signatures: [good]) == [id(old)])
    for bit in 0..<manifest.count * 8 {
      var bytes = manifest
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!good.isValid(for: bytes))
    }
    let value = try #require(Base64.decode(good.value, .url))
    for bit in 0..<512 {
      var bytes = value
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      var spoiled = good
      spoiled.value = Base64.encode(bytes, .url)
      #expect(!spoiled.isValid(for: manifest))
    }
    for bit in 0..<256 {
      var bytes = good.publicKey.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      var spoiled = good
      spoiled.publicKey = try #require(VerificationKey(bytes))
      #expect(!spoiled.isValid(for: manifest))
      spoiled.keyId = spoiled.publicKey.publisherKeyIdentifier
      #expect(!spoiled.isValid(for: manifest))
    }
    var renamed = good
    renamed.keyId = id(new)
    #expect(try codes(trust, [renamed]) == [.signatureInvalid])
    for value in ["", "AA", good.value + "A", "!" + good.value.dropFirst()] {
      var cut = good
      cut.value = value
      #expect(!cut.isValid(for: manifest))
    }
  }

  @Test("where nobody asks for a signature none is needed, and a wrong one is refused all the same")
  func unsigned() throws {
    let trust = SignaturePolicy(named: [])
    #expect(try trust.signers(of: manifest, signatures: []) == [])
    #expect(try trust.signers(of: manifest, signatures: [signature(old)]) == [id(old)])
    var wrong = signature(old)
    wrong.publicKey = new.verificationKey
    #expect(try codes(trust, [wrong]) == [.signatureInvalid])
  }

  @Test("a product that names keys needs one of them, and takes no other")
  func named() throws {
    let trust = SignaturePolicy(named: [id(old)])
    #expect(try codes(trust, []) == [.signatureMissing])
    #expect(try codes(trust, [signature(new)]) == [.signatureKeyUnknown])
    #expect(try codes(trust, [signature(old), signature(new)]) == [.signatureKeyUnknown])
  }

  @Test("every wrong signature is listed")
  func everyFault() throws {
    var wrong = signature(old)
    wrong.value = signature(new).value
    let trust = SignaturePolicy(named: [id(old)])
    #expect(try codes(trust, [wrong, signature(new)]) == [.signatureInvalid, .signatureKeyUnknown])
    let many = [PublisherSignature](repeating: signature(old), count: 5)
    #expect(try codes(trust, many) == [.signatureInvalid])
  }

  @Test("a device keeps to the keys it has seen, whatever the server now names")
  func pinned() throws {
    var trust = SignaturePolicy(named: [id(new)], pinned: [id(old)])
    #expect(try codes(trust, [signature(new)]) == [.signatureKeyChanged])
    trust.named = []
    #expect(try codes(trust, []) == [.signatureMissing])
    #expect(try codes(trust, [signature(new)]) == [.signatureKeyChanged])
    #expect(try trust.signers(of: manifest, signatures: [signature(old)]) == [id(old)])
  }

  @Test("two keys at once let a new one take over")
  func rotation() throws {
    var trust = SignaturePolicy(named: [id(old), id(new)], pinned: [id(old)])
    let signers = try trust.signers(of: manifest, signatures: [signature(old), signature(new)])
    #expect(signers == [id(old), id(new)])
    trust = SignaturePolicy(named: [id(new)], pinned: trust.pinned.union(signers))
    #expect(try trust.signers(of: manifest, signatures: [signature(new)]) == [id(new)])
  }

  @Test("keys that the owner trusts are needed, and stand in for those seen before")
  func trusted() throws {
    var trust = SignaturePolicy(named: [], pinned: [], trusted: [id(new)])
    #expect(try codes(trust, []) == [.signatureMissing])
    #expect(try codes(trust, [signature(old)]) == [.signatureKeyUntrusted])
    trust.pinned = [id(old)]
    #expect(try trust.signers(of: manifest, signatures: [signature(new)]) == [id(new)])
    trust.named = [id(old)]
    #expect(try codes(trust, [signature(new)]) == [.signatureKeyUnknown])
  }
}

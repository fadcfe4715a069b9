import Commerce
import CoreTypes
import Crypto
import DeliveryModel
import PullboxAPI
import Receipts
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

@Suite("What proves that a request comes from a grant's device")
struct GrantCredentialTests {
  private let key = SigningKey()
  private let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_999)
  private let path = "/v1/grants/000102030405060708090a0b0c0d0e0f/tickets"
  private let secret = "the-secret-that-came-with-the-grant-of-this-test"
  private var grant: GrantRecord

  init() throws {
    grant = GrantRecord(
      id: try #require(GrantIdentifier("000102030405060708090a0b0c0d0e0f")),
      handle: DeliveryHandle(high: 1, low: 2), store: .sandbox, environment: .sandbox,
      transaction: try #require(TransactionIdentifier("2000000001")),
      product: try #require(ProductIdentifier("com.example.a")),
      version: try #require(ContentVersion("1.0")), device: try #require(DeviceIdentifier("device-1")),
      publicKey: key.verificationKey, renewalDigest: nil, digest: .of([1]), length: ByteCount(1000),
      manifestDigest: .of([2]), machine: GrantMachine(),
      created: Timestamp(millisecondsSinceEpoch: 0))
  }

  /// A grant of a device without a key.
  private func keyless(secret: String?) -> GrantRecord {
    var grant = grant
    grant.publicKey = nil
    grant.renewalDigest = secret.map { .of($0.utf8) }
    return grant
  }

  private func proof(
    method: String = "POST", path: String? = nil, iat: Int64 = 1_795_249_800, key: SigningKey? = nil
  ) throws -> GrantCredential.Evidence {
    let payload = DeviceProof(method: method, path: path ?? self.path, iat: iat)
    return .deviceProof(
      try JSONWebSignature(signing: try APIJSON.encode(payload), with: key ?? self.key).text)
  }

  private func refusal(
    _ evidence: GrantCredential.Evidence, _ grant: GrantRecord? = nil
  ) -> Problem? {
    do {
      try GrantCredential(evidence: evidence, method: "POST", path: path).check(
        for: grant ?? self.grant, at: now)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "a signature by the device's key over method, path and time is right, whatever a proxy takes from the path"
  )
  func right() throws {
    #expect(try refusal(proof()) == nil)
    #expect(try refusal(proof(path: "/behind/a/proxy" + path)) == nil)
  }

  @Test("nothing, and a secret, are no signature, and the refusal says that one is missing")
  func missing() {
    #expect(refusal(.nothing)?.code == .proofMissing)
    #expect(refusal(.renewalSecret(secret))?.code == .proofMissing)
  }

  @Test("a signature by another key, or of another request, is refused")
  func wrong() throws {
    #expect(try refusal(proof(key: SigningKey()))?.code == .proofRefused)
    #expect(try refusal(proof(method: "GET"))?.code == .proofRefused)
    for other in [
      "/v1/grants/000102030405060708090a0b0c0d0e0f", "/v1/grants/ffffffffffffffffffffffffffffffff/tickets",
      path + "/", "", "/", "x",
    ] {
      #expect(try refusal(proof(path: other))?.code == .proofRefused, "\(other)")
    }
  }

  @Test(
    "what is no signature, or a signature over something else, is refused",
    arguments: [
      "", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", String(repeating: "A", count: 5000),
    ])
  func malformed(text: String) throws {
    #expect(refusal(.deviceProof(text))?.code == .proofRefused)
    for payload in ["{}", "[]", #"{"method":"POST","path":1,"iat":1795249800}"#] {
      let signed = try JSONWebSignature(signing: Array(payload.utf8), with: key)
      #expect(refusal(.deviceProof(signed.text))?.code == .proofRefused)
    }
    // A report that the device signed is no proof for a renewal.
    let report = CompletionReport(
      digest: grant.digest, version: grant.version, length: grant.length, placedAt: now, grant: grant.id,
      device: grant.device)
    let signed = try JSONWebSignature(signing: try APIJSON.encode(report), with: key)
    #expect(refusal(.deviceProof(signed.text))?.code == .proofRefused)
  }

  @Test("the signed time may be off by 300 seconds; beyond, the refusal has the server's time")
  func time() throws {
    for offset in [-300, -1, 0, 1, 300] as [Int64] {
      #expect(try refusal(proof(iat: 1_795_249_800 + offset)) == nil, "\(offset)")
    }
    for iat in [1_795_249_499, 1_795_250_101, 0, .min, .max] as [Int64] {
      let problem = try #require(try refusal(proof(iat: iat)))
      #expect(problem.code == .clockSkew)
      #expect(problem.serverTime == now)
    }
    // Only the device learns that it is the time alone.
    #expect(try refusal(proof(iat: 0, key: SigningKey()))?.code == .proofRefused)
    #expect(try refusal(proof(path: "/", iat: 0))?.code == .proofRefused)
  }

  @Test("a device without a key shows the secret, and nothing else will do")
  func secrets() throws {
    let grant = keyless(secret: secret)
    #expect(refusal(.renewalSecret(secret), grant) == nil)
    #expect(refusal(.renewalSecret(secret + "x"), grant)?.code == .proofRefused)
    #expect(refusal(.renewalSecret(""), grant)?.code == .proofRefused)
    #expect(refusal(.nothing, grant)?.code == .renewalSecretMissing)
    #expect(try refusal(proof(), grant)?.code == .renewalSecretMissing)
  }

  @Test("the secret before the last one is as good, and no other")
  func previousSecret() throws {
    var grant = keyless(secret: secret + "2")
    grant.previousRenewalDigest = .of(secret.utf8)
    #expect(refusal(.renewalSecret(secret + "2"), grant) == nil)
    #expect(refusal(.renewalSecret(secret), grant) == nil)
    #expect(refusal(.renewalSecret(secret + "1"), grant)?.code == .proofRefused)
  }

  @Test("a grant from before there were secrets asks for the receipt")
  func older() {
    for evidence in [.nothing, .renewalSecret(secret)] as [GrantCredential.Evidence] {
      #expect(refusal(evidence, keyless(secret: nil))?.code == .receiptNeeded)
    }
  }
}

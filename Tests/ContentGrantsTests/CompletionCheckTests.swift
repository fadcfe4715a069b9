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

@Suite("Completion against grant")
struct CompletionCheckTests {
  let key = SigningKey()
  let digest = SHA256Digest.of(Array("package".utf8))
  var grant: GrantRecord
  var report: CompletionReport

  init() throws {
    let id = try #require(GrantIdentifier("000102030405060708090a0b0c0d0e0f"))
    let version = try #require(ContentVersion("1.0"))
    let device = try #require(DeviceIdentifier("device-1"))
    grant = GrantRecord(
      id: id, handle: DeliveryHandle(high: 1, low: 2), store: .sandbox, environment: .sandbox,
      transaction: try #require(TransactionIdentifier("2000000001")),
      product: try #require(ProductIdentifier("com.example.a")), version: version, device: device,
      publicKey: nil, renewalDigest: nil, digest: digest, length: ByteCount(1000),
      manifestDigest: SHA256Digest.of(Array("manifest".utf8)), machine: GrantMachine(),
      created: Timestamp(millisecondsSinceEpoch: 0))
    report = CompletionReport(
      digest: digest, version: version, length: ByteCount(1000),
      placedAt: Timestamp(millisecondsSinceEpoch: 1), grant: id, device: device)
  }

  private func plain(_ report: CompletionReport) throws -> ReceivedCompletion {
    try ReceivedCompletion(APIJSON.encode(report))
  }

  private func signed(_ report: CompletionReport, with key: SigningKey) throws -> ReceivedCompletion {
    let token = try JSONWebSignature(signing: APIJSON.encode(report), with: key)
    return try ReceivedCompletion(Array(token.text.utf8))
  }

  private func missingStep(
    _ completion: ReceivedCompletion, in grant: GrantRecord? = nil, delivered: Int = 1000
  ) throws -> CompletionStep? {
    try CompletionCheck(grant: grant ?? self.grant, delivered: ByteCount(delivered)).missingStep(
      in: completion)
  }

  @Test("a right report from a device without a key lacks nothing")
  func right() throws {
    #expect(try missingStep(plain(report)) == nil)
  }

  @Test("grant and device may be left out of a plain report")
  func sparse() throws {
    var sparse = report
    sparse.grant = nil
    sparse.device = nil
    #expect(try missingStep(plain(sparse)) == nil)
  }

  @Test("each member that differs is named")
  func mismatches() throws {
    func step(_ change: (inout CompletionReport) -> Void) throws -> CompletionStep? {
      var changed = report
      change(&changed)
      return try missingStep(plain(changed))
    }
    #expect(try step { $0.digest = SHA256Digest.of([]) } == .digest)
    #expect(try step { $0.length = ByteCount(999) } == .length)
    let otherVersion = try #require(ContentVersion("1.1"))
    #expect(try step { $0.version = otherVersion } == .version)
    let otherDevice = try #require(DeviceIdentifier("device-2"))
    #expect(try step { $0.device = otherDevice } == .device)
    let otherGrant = try #require(GrantIdentifier([UInt8](repeating: 9, count: 16)))
    #expect(try step { $0.grant = otherGrant } == .grant)
  }

  @Test("1.0 and 1 are the same version")
  func equalVersions() throws {
    var other = report
    other.version = try #require(ContentVersion("1"))
    #expect(try missingStep(plain(other)) == nil)
  }

  @Test("a device that gave its key must sign with it, and name the grant")
  func signatures() throws {
    var keyed = grant
    keyed.publicKey = key.verificationKey
    #expect(try missingStep(signed(report, with: key), in: keyed) == nil)
    #expect(try missingStep(plain(report), in: keyed) == .deviceSignature)
    #expect(try missingStep(signed(report, with: SigningKey()), in: keyed) == .deviceSignature)
    var anonymous = report
    anonymous.grant = nil
    #expect(try missingStep(signed(anonymous, with: key), in: keyed) == .grant)
  }

  @Test("a signature without a key to check it counts as none")
  func signatureWithoutKey() throws {
    #expect(try missingStep(signed(report, with: key)) == .deviceSignature)
  }

  @Test("a report before the bytes were sent lacks the delivery")
  func delivery() throws {
    #expect(try missingStep(plain(report), delivered: 0) == .delivery)
    #expect(try missingStep(plain(report), delivered: 999) == .delivery)
  }

  @Test("a hole in the server's own count is not held against the device")
  func countWithHole() throws {
    let afterCrash = CompletionCheck(grant: grant, delivered: ByteCount(12), mayHaveLostCounts: true)
    #expect(try afterCrash.missingStep(in: plain(report)) == nil)
  }

  @Test(
    "what is neither JSON nor a JWS is malformed",
    arguments: ["", "{", "{}", "a.b.c", "[]", #"{"digest":"x","version":"1","length":1,"placedAt":"now"}"#])
  func malformed(body: String) {
    let problem = #expect(throws: Problem.self) { try ReceivedCompletion(Array(body.utf8)) }
    #expect(problem?.code == .completionMalformed)
  }
}

import Commerce
import CoreTypes
import Testing

@testable import Receipts

@Suite("Receipts between this project and OpenSSL's command line")
struct OpenSSLInteroperationTests {
  let authority: ReceiptAuthority
  let tool: OpenSSLTool

  init() throws {
    authority = try Fixtures.authority.get()
    tool = try OpenSSLTool(authority)
  }

  func verify(_ message: [UInt8], policy: ReceiptPolicy = ReceiptPolicy()) throws -> VerifiedAppReceipt {
    try UnverifiedAppReceipt(encoded: message).verified(
      trusting: [authority.root], now: Fixtures.now, policy: policy)
  }

  @Test("openssl cms -verify agrees that a receipt is genuine, and that a changed one is not")
  func judged() async throws {
    let encoded = try authority.signer.sign(Fixtures.receipt())
    let seconds = Fixtures.now.secondsSinceEpoch
    #expect(try await tool.verify(encoded, at: seconds) == Fixtures.receipt().encodedPayload)
    var changed = encoded
    changed[changed.count - 1] ^= 1
    #expect(try await tool.verify(changed, at: seconds) == nil)
  }

  @Test("a receipt that openssl signs without signed attributes verifies")
  func plain() async throws {
    let message = try await tool.sign(Fixtures.receipt().encodedPayload, ["-noattr", "-md", "sha256"])
    #expect(try verify(message).receipt == Fixtures.receipt())
  }

  @Test("a receipt with signed attributes verifies")
  func signedAttributes() async throws {
    let message = try await tool.sign(Fixtures.receipt().encodedPayload, ["-md", "sha256"])
    #expect(try verify(message).receipt == Fixtures.receipt())
  }

  @Test("a receipt signed over SHA-1 counts only where the policy says so")
  func sha1() async throws {
    let message = try await tool.sign(Fixtures.receipt().encodedPayload, ["-noattr", "-md", "sha1"])
    let error = #expect(throws: ReceiptError.self) { try verify(message) }
    #expect(error?.code == .digestTooWeak)
    #expect(throws: Never.self) { try verify(message, policy: ReceiptPolicy(acceptsSHA1: true)) }
  }

  @Test("a receipt in BER, as Xcode writes it, parses and is refused")
  func indefiniteLengths() async throws {
    var receipt = Fixtures.receipt()
    receipt.environmentName = "Xcode"
    let message = try await tool.sign(receipt.encodedPayload, ["-noattr", "-md", "sha256", "-stream"])
    // SEQUENCE of indefinite length.
    try #require(Array(message.prefix(2)) == [0x30, 0x80])
    let unverified = try UnverifiedAppReceipt(encoded: message)
    #expect(unverified.claims == receipt)
    #expect(unverified.claims.environment == .xcode)
    let error = #expect(throws: ReceiptError.self) { try verify(message) }
    #expect(error?.code == .malformed)

    var conversation = VerifyReceiptFlow(
      about: unverified,
      policy: VerifyReceiptPolicy(
        bundleIdentifiers: ["com.example.pullbox"], environments: [.production, .sandbox]))
    var response = VerifyReceiptResponse(status: .valid)
    response.receipt = .init(receipt, requestDate: Fixtures.now)
    guard case .finished(.wrongEnvironment) = conversation.handle(.response(response)) else {
      Issue.record("an Xcode receipt was not refused")
      return
    }
  }

  @Test("a message without content, or of two signers, is malformed")
  func otherMessages() async throws {
    let payload = Fixtures.receipt().encodedPayload
    try tool.write(payload, "payload.bin")
    let common = [
      "cms", "-sign", "-binary", "-in", "payload.bin", "-signer", "leaf.pem", "-inkey", "key.pem", "-outform",
      "DER",
      "-out", "message.der",
    ]
    #expect(try await tool.run(common) == 0)
    #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(encoded: tool.read("message.der")) }
    let stranger = try Fixtures.stranger.get()
    try tool.write(Array(stranger.leaf.pem.utf8), "other.pem")
    try tool.write(Array(stranger.keyPEM().utf8), "otherkey.pem")
    #expect(
      try await tool.run(common + ["-nodetach", "-signer", "other.pem", "-inkey", "otherkey.pem"]) == 0)
    #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(encoded: tool.read("message.der")) }
  }
}

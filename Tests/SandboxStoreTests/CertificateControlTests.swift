import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import SystemCalls
import Testing

@testable import Receipts
@testable import SandboxStore

/// The responder of a store that runs, in both forms of RFC 6960 §A.1, and the controls of its certificates.
@Suite("Certificates that are revoked and made anew", .timeLimit(.minutes(1)))
struct CertificateControlTests {
  private let store: SandboxServiceTests
  private let now = SystemWallClock()

  init() throws {
    store = try SandboxServiceTests()
  }

  private struct Status: Decodable {
    var serialNumber: String
    var isRevoked: Bool
  }

  /// The leaf of what the store signs, its issuer and the root.
  private func chain(
    of service: SandboxService
  ) throws -> (leaf: Certificate, issuer: Certificate, root: Certificate) {
    let bytes = try FileSystem.read(store.directory.path("state/pki/signed-data.pem"), upTo: .kibibytes(64))
    let certificates = try Certificate.certificates(inPEM: String(decoding: bytes, as: UTF8.self))
    try #require(certificates.count == 3)
    return (certificates[0], certificates[1], certificates[2])
  }

  private func ask(
    _ service: SandboxService, _ request: [UInt8], byPath: Bool
  ) async throws -> ClientResponse {
    let url = "http://\(try #require(service.addresses.first))/ocsp"
    if byPath {
      return try await store.client.send(
        ClientRequest(method: "GET", url: "\(url)/\(Base64.encode(request))"))
    }
    return try await store.client.send(
      ClientRequest(
        method: "POST", url: url, headers: [("Content-Type", "application/ocsp-request")],
        body: .bytes(request)))
  }

  @Test("by POST and by GET the leaf is good, after it is revoked it is not, and a new one is good")
  func course() async throws {
    let service = store.service(catalog: "http://127.0.0.1:1")
    try await service.start()
    let api = try store.api(service)
    func verdicts() async throws -> [RevocationVerdict] {
      let (leaf, issuer, root) = try chain(of: service)
      let request = try RevocationMessages.request(about: leaf, from: issuer)
      var verdicts: [RevocationVerdict] = []
      for byPath in [false, true] {
        let answer = try await ask(service, request, byPath: byPath)
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"] == "application/ocsp-response")
        verdicts.append(
          try RevocationMessages.verdict(
            of: answer.body, about: leaf, from: issuer, trusting: root, at: now.now()))
      }
      return verdicts
    }
    func isGood(_ verdict: RevocationVerdict) -> Bool {
      if case .good = verdict { true } else { false }
    }
    #expect(try await verdicts().map(isGood) == [true, true])
    let revoked = try await api.call(
      "POST", "/sandbox/v1/certificates/revoke", body: EmptyBody?.none, as: Status.self
    ).value
    #expect(revoked.isRevoked)
    #expect(try await verdicts() == [.revoked, .revoked])
    let renewed = try await api.call(
      "POST", "/sandbox/v1/certificates/renew", body: EmptyBody?.none, as: Status.self
    ).value
    #expect(!renewed.isRevoked && renewed.serialNumber != revoked.serialNumber)
    #expect(try await verdicts().map(isGood) == [true, true])
    // What is no request is answered as unreadable, with OCSP's own status.
    #expect(try await ask(service, [1, 2, 3], byPath: true).body.suffix(1) == [1])
    await service.stop()
  }
}

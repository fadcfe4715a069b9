import CoreTypes
import Crypto
import Files
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

  /// How a request is put to the responder (RFC 6960 §A.1).
  private enum Way: CaseIterable {
    case post
    /// Base 64 as it is.
    case path
    /// With the characters of base 64 escaped that mean something in a URL.
    case escapedPath
  }

  private func ask(_ service: SandboxService, _ request: [UInt8], _ way: Way) async throws -> ClientResponse {
    let url = "http://\(try #require(service.addresses.first))/ocsp"
    let text = Base64.encode(request)
    let escaped = text.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
    if way != .post {
      return try await store.client.send(
        ClientRequest(method: "GET", url: "\(url)/\(way == .path ? text : escaped)"))
    }
    return try await store.client.send(
      ClientRequest(
        method: "POST", url: url, headers: [("Content-Type", "application/ocsp-request")],
        body: .bytes(request)))
  }

  @Test("a request in the path has its slashes, escaped or not, anywhere: leading, doubled and trailing")
  func slashes() async throws {
    let service = store.service(catalog: "http://127.0.0.1:1")
    try await service.start()
    let url = "http://\(try #require(service.addresses.first))/ocsp"
    // 0xFF 0xFF 0xFF is four slashes; it is no request, which the responder says in its own words.
    for path in ["////", "%2F%2F%2F%2F", "/%2f/%2F"] {
      let answer = try await store.client.send(ClientRequest(method: "GET", url: "\(url)/\(path)"))
      #expect(answer.status == 200, "\(path)")
      #expect(answer.headers["Content-Type"] == "application/ocsp-response")
      #expect(answer.body.suffix(1) == [1])
    }
    for path in ["%00", "a%0Ab"] {
      let answer = try await store.client.send(ClientRequest(method: "GET", url: "\(url)/\(path)"))
      #expect(answer.status == 400, "\(path)")
    }
    await service.stop()
  }

  @Test(
    "by POST and by GET, escaped or not, the leaf is good, after it is revoked it is not, and a new one is good"
  )
  func course() async throws {
    let service = store.service(catalog: "http://127.0.0.1:1")
    try await service.start()
    let api = try store.api(service)
    func verdicts() async throws -> [RevocationVerdict] {
      let (leaf, issuer, root) = try chain(of: service)
      let request = try RevocationMessages.request(about: leaf, from: issuer)
      var verdicts: [RevocationVerdict] = []
      for way in Way.allCases {
        let answer = try await ask(service, request, way)
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
    #expect(try await verdicts().map(isGood) == [true, true, true])
    let revoked = try await api.call(
      "POST", "/sandbox/v1/certificates/revoke", body: EmptyBody?.none, as: Status.self
    ).value
    #expect(revoked.isRevoked)
    #expect(try await verdicts() == [.revoked, .revoked, .revoked])
    let renewed = try await api.call(
      "POST", "/sandbox/v1/certificates/renew", body: EmptyBody?.none, as: Status.self
    ).value
    #expect(!renewed.isRevoked && renewed.serialNumber != revoked.serialNumber)
    #expect(try await verdicts().map(isGood) == [true, true, true])
    // Bytes that are no request are answered as unreadable, with OCSP's own status.
    #expect(try await ask(service, [1, 2, 3], .path).body.suffix(1) == [1])
    await service.stop()
  }
}

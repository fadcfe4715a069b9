import AgentTesting
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The certificates that count for the services of an agent.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CertificateTests {
  @Test("certificates count by the given authority and key, and the agent says which fault it met (D13)")
  func faults() async throws {
    let directory = try TemporaryDirectory()
    let certificate = try await TestCertificate(named: "localhost", in: directory)
    let other = try await TestCertificate(named: "other", in: directory)
    let client = try HTTPClient()
    let pin = try await certificate.publicKeyPin(in: directory)
    let otherPin = try await other.publicKeyPin(in: directory)
    #expect(ServerTrust.isPin(pin))
    try await FakeServer().open(certificate: certificate) { url in
      func outcome(_ trust: ServerTrust, host: String = "localhost") async -> StatusReason? {
        var api = APIClient(
          baseURL: "https://" + host + url.dropFirst("https://localhost".count), client: client)
        api.trust = trust
        do throws(APICallError) {
          _ = try await api.exchange("GET", "/store/v1/receipt?device=x")
          return nil
        } catch {
          return StepFailure(error, from: .server).reason
        }
      }
      let authority = certificate.certificateFile
      #expect(await outcome(ServerTrust()) == .certificateNotTrusted)
      #expect(
        await outcome(ServerTrust(certificateAuthorityFile: other.certificateFile)) == .certificateNotTrusted)
      #expect(await outcome(ServerTrust(certificateAuthorityFile: authority)) == nil)
      #expect(
        await outcome(ServerTrust(certificateAuthorityFile: authority), host: "127.0.0.1")
          == .certificateForAnotherName)
      #expect(
        await outcome(ServerTrust(certificateAuthorityFile: authority, publicKeyPins: [otherPin]))
          == .certificateNotPinned)
      #expect(
        await outcome(ServerTrust(certificateAuthorityFile: authority, publicKeyPins: [otherPin, pin])) == nil
      )
    }
  }

  /// The setting of an agent that names another certificate than that of its services.
  enum Wrong: String, CaseIterable, Sendable {
    case nothing, serverAuthority, serverPin, storeAuthority
  }

  @Test(
    "serverCA, serverPin and storeCA count in a running agent: a wrong one is named in its status and its log (D13)",
    arguments: Wrong.allCases)
  func configured(wrong: Wrong) async throws {
    let harness = try AgentHarness()
    let own = try await TestCertificate(named: "localhost", in: harness.directory)
    let other = try await TestCertificate(named: "other", in: harness.directory)
    let pinned = try await (wrong == .serverPin ? other : own).publicKeyPin(in: harness.directory)
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    try server.queuePurchase()
    let lines = LogLines()
    try await server.open(certificate: own) { url in
      let configure: (inout AgentConfiguration) -> Void = { configuration in
        configuration.serverCA = (wrong == .serverAuthority ? other : own).certificateFile
        configuration.storeCA = (wrong == .storeAuthority ? other : own).certificateFile
        configuration.serverPin = [pinned]
      }
      try await harness.run(server: url, log: lines.log(), configure: configure) { agent in
        switch wrong {
        case .nothing:
          try await agent.finished(["2000000000000001"])
        case .serverAuthority, .serverPin:
          let reason = wrong == .serverPin ? "certificate-not-pinned" : "certificate-not-trusted"
          _ = try await agent.transaction("planning", reason)
          _ = await lines.first(with: "a question about transactions has no answer", reason)
          let status = try await harness.get("/v1/status", as: AgentStatus.self)
          #expect(status.server.reachable == false && status.store.reachable == true)
          let told = try #require(status.server.lastError)
          #expect(told.contains(wrong == .serverPin ? "pinned public key" : "SSL certificate"), "\(told)")
        case .storeAuthority:
          _ = await lines.first(with: "the store's queue cannot be read", "certificate-not-trusted")
          let status = try await harness.get("/v1/status", as: AgentStatus.self)
          let told = try #require(status.store.lastError)
          #expect(status.store.reachable == false && told.contains("SSL certificate"), "\(told)")
          #expect(try await harness.transactions().isEmpty)
        }
      }
    }
    #expect(try harness.placed(package) == (wrong == .nothing))
    // Nothing was asked of a service whose certificate does not count.
    #expect(server.state.current.asked.contains { $0.hasSuffix("/v1/entitlements") } == (wrong == .nothing))
  }
}

extension TestCertificate {
  /// The pin as docs/agent.md has an operator compute it.
  func publicKeyPin(in directory: TemporaryDirectory) async throws -> String {
    let output = directory.path("\(UInt64.random(in: .min ... .max)).pin")
    let command =
      "openssl x509 -in '\(certificateFile)' -pubkey -noout | openssl pkey -pubin -outform der"
      + " | openssl dgst -sha256 -binary | openssl enc -base64"
    let shell = try ChildProcess("/bin/sh", ["-c", command], environment: [:], output: output)
    _ = await shell.ending()
    let text = String(decoding: try FileSystem.read(output, upTo: .kibibytes(1)), as: UTF8.self)
    return "sha256//" + text.filter { !$0.isWhitespace }
  }
}

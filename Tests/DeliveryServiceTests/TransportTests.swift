import CoreTypes
import Files
import HTTPClient
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

/// TLS, its certificate's renewal, and sockets that were handed over.
@Suite("Transport", .timeLimit(.minutes(10)))
struct TransportTests {
  @Test(
    "connections leave descriptors for content and the database, and take half of them at least",
    arguments: [
      // The numbers are as configured where there are plenty; else 704 and 64 for each loop are left.
      (65_536, 2, 4096), (4928, 2, 4096), (4927, 2, 4095), (2048, 2, 1216), (1664, 2, 832), (1024, 2, 512),
      (1, 1, 1),
    ])
  func connectionsOfDescriptors(descriptors: Int, loops: Int, connections: Int) {
    #expect(DeliveryServer.connections(wanted: 4096, of: descriptors, loops: loops) == connections)
  }

  private func secureOptions(_ certificate: TestCertificate) -> [String] {
    [
      "--tls-listen", "127.0.0.1:0", "--tls-certificate", certificate.certificateFile, "--tls-key",
      certificate.keyFile,
    ]
  }

  private func certificateName(_ server: ServerHarness) async throws -> String {
    let address = try #require(server.server.addresses.first { $0.hasPrefix("https://127.0.0.1:") })
    let port = try #require(UInt16(address.dropFirst("https://127.0.0.1:".count)))
    let connection = try SecureConnection(over: .tcp(port: port))
    try await connection.handshake()
    try await connection.send("GET /v1/nothing HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try await connection.receiveResponse()
    #expect(response.status == 404)
    return connection.certificateName
  }

  @Test("a reload renews the certificate; one with a bad file changes nothing at all")
  func reload() async throws {
    let directory = try TemporaryDirectory()
    let certificate = try await TestCertificate(named: "first", in: directory)
    let next = try await TestCertificate(named: "second", in: directory)
    try await ServerHarness.run(options: secureOptions(certificate)) { server in
      #expect(try await certificateName(server) == "/CN=first")
      let key = try FileSystem.read(next.keyFile, upTo: .kibibytes(64))
      try DurableFile.write(key.span, to: certificate.keyFile, permissions: 0o600)
      var configuration = server.configuration
      configuration.operatorKey = Redacted("another-key-of-the-operator")
      let changed = configuration
      await server.server.reload { changed }
      // Key and certificate do not match: the old operator key is good as well.
      #expect(try await certificateName(server) == "/CN=first")
      #expect(try await server.operatorAPI.exchange("GET", "/v1/operator/deliveries").status == 200)
      let chain = try FileSystem.read(next.certificateFile, upTo: .kibibytes(64))
      try DurableFile.write(chain.span, to: certificate.certificateFile)
      await server.server.reload { changed }
      #expect(try await certificateName(server) == "/CN=second")
      await #expect(throws: APICallError.self) {
        _ = try await server.operatorAPI.exchange("GET", "/v1/operator/deliveries")
      }
    }
  }

  @Test("sockets that were handed over take the place of the configured addresses")
  func inherited() async throws {
    let directory = try TemporaryDirectory()
    let certificate = try await TestCertificate(named: "first", in: directory)
    let plain = try BoundSocket()
    let secure = try BoundSocket()
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    let arguments =
      ["--state", directory.path("state"), "--store-credential", "s"] + secureOptions(certificate)
    guard case .run(let parsed) = try parser.parse(arguments) else {
      Issue.record("not parsed")
      return
    }
    let server = try DeliveryServer(
      try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed), log: Log(level: .error),
      inherited: [try plain.handOver(name: "http"), try secure.handOver(name: "https")])
    try await server.start()
    #expect(server.addresses == ["127.0.0.1:\(plain.port)", "https://127.0.0.1:\(secure.port)"])
    await server.pulse()
    await server.stop()
  }
}

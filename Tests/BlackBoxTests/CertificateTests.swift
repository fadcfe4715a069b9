import PullboxTesting
import Testing

/// The certificates that count for the command line.
@Suite("The server's certificate at the command line", .timeLimit(.minutes(10)))
struct CertificateTests {
  private static let key = "operator-key-of-a-test"

  @Test(
    "--ca-file names the authorities that count; another certificate is refused by its fault, with what would help (D13)"
  )
  func authorities() async throws {
    let directory = try TemporaryDirectory()
    let own = try await TestCertificate(named: "localhost", in: directory)
    let other = try await TestCertificate(named: "other", in: directory)
    let server = try await Daemon.start(
      "pullbox-server",
      [
        "--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0", "--tls-certificate", own.certificateFile,
        "--tls-key", own.keyFile, "--state", directory.path("state"), "--operator-key", Self.key,
        "--store-url", "http://127.0.0.1:9", "--store-credential", "x",
      ], name: "server", in: directory)
    let address = try #require(server.addresses.first { $0.hasPrefix("https://") })
    let port = try #require(address.split(separator: ":").last)
    func products(
      _ host: String, _ arguments: [String], variables: [String: String] = [:]
    ) async throws -> Executables.Outcome {
      try await Executables.run(
        Executables.path("pullbox"),
        ["products", "--server", "https://\(host):\(port)", "--operator-key", Self.key] + arguments,
        environment: Executables.environment.merging(variables) { $1 }, in: directory)
    }
    let right = ["--ca-file", own.certificateFile]
    let trusted = try await products("localhost", right)
    #expect(trusted.ending == .exited(0), "\(trusted.errors)")
    let byVariable = try await products("localhost", [], variables: ["PULLBOX_CA_FILE": own.certificateFile])
    #expect(byVariable.ending == .exited(0), "\(byVariable.errors)")
    let refusals: [(host: String, arguments: [String], fault: String)] = [
      ("localhost", [], "certificate-not-trusted"),
      ("localhost", ["--ca-file", other.certificateFile], "certificate-not-trusted"),
      ("127.0.0.1", right, "certificate-for-another-name"),
    ]
    for (host, arguments, fault) in refusals {
      let refused = try await products(host, arguments)
      #expect(refused.ending == .exited(1))
      #expect(
        refused.errors.contains("the certificate of https://\(host):\(port) is refused (\(fault): "),
        "\(refused.errors)")
      #expect(refused.errors.contains("--ca-file or PULLBOX_CA_FILE"))
    }
    #expect(await server.process.terminateAndWait() == .exited(0))
  }
}

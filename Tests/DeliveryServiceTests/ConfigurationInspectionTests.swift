import CoreTypes
import Files
import Foundation
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DeliveryService

@Suite("What is said of the server's configuration before it starts")
struct ConfigurationInspectionTests {
  private static let credential = "the-credential-of-a-store-4711"
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func report(
    _ arguments: [String], environment: [String: String] = [:]
  ) throws -> ConfigurationReport<DeliveryConfiguration> {
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: environment)
    guard case .run(let parsed) = try parser.parse(["--store-credential", Self.credential] + arguments) else {
      throw UsageError("help")
    }
    return ConfigurationReport(parsed)
  }

  @Test("a server as its defaults make it has no fault, and the warning that it has no operator key")
  func defaults() throws {
    let report = try report([])
    #expect(report.faults == [])
    #expect(report.warnings.map(\.subject) == ["operatorKey"])
    #expect(try self.report(["--operator-key", "a-key-of-the-first-operator"]).warnings == [])
  }

  @Test("a proxy that reads an object store without a bound of what it sends is warned of")
  func edge() throws {
    let arguments = [
      "--operator-key", "a-key-of-the-first-operator", "--packages", "s3://comics", "--s3-access-key-file",
      "/etc/hostname", "--accel-redirect-prefix", "/store/",
    ]
    #expect(try report(arguments).warnings.map(\.subject) == ["accelRedirectLongest"])
    #expect(try report(arguments + ["--accel-redirect-longest", "64MiB"]).warnings == [])
  }

  @Test("faults of values that have nothing to do with one another are told together")
  func together() throws {
    let report = try report([
      "--listen", "nowhere", "--listen", "127.0.0.1:0", "--listen", "there", "--management-listen", "x",
      "--burst", "1", "--rate-class", "{number: 0, products: [], limits: {}}",
      "--rate-class", "{number: 1, products: [], limits: {bodiesPerGrant: 0}}",
      "--requests-in-progress", "0", "--body-memory", "1", "--admission-class", "{class: 'none'}",
      "--trusted-proxy", "x", "--unlimited-address", "y", "--accel-redirect-prefix", "",
      "--ticket-lifetime", "0s", "--cors-origin", "HTTP://X", "--store-calls", "0", "--node", "a b",
      "--idle-deadline", "0",
      "--head-deadline", "0", "--public-url", "x", "--store-url", "y", "--log-level", "loud",
    ])
    #expect(
      Set(report.faults.map(\.subject)) == [
        "listen.0", "listen.2", "management.listen.0", "limits", "rateClasses.0", "rateClasses.1",
        "requestsInProgress", "bodyMemory", "admissionClasses.0", "trustedProxies.0", "unlimitedAddresses.0",
        "accelRedirectPrefix", "ticketLifetime", "cors.origins", "storeCalls", "node", "idleDeadline",
        "headDeadline",
        "publicURL", "store.url", "logLevel",
      ])
  }

  @Test("the lines of the file of operator keys are told with their place, and equal keys by their names")
  func operatorFile() throws {
    let path = directory.path("operators")
    let text = """
      {name: 'ada', key: 'a-key-of-the-operator-ada', scopes: ['read']}
      # no entry
      {name: 'bob', scopes: ['read']}
      {name: 'cem', key: 'a-key-of-the-operator-ada', scopes: ['read']}
      {name: 'ada', key: 'another-key-of-this-operator', scopes: ['read']}
      """
    try DurableFile.write(Array(text.utf8).span, to: path, permissions: 0o600)
    let faults = try report(["--operator-key-file", path]).faults.map(\.description)
    #expect(
      faults.map { $0.replacing(path, with: "f") } == [
        "f:3:1: bob has either a key or a hash", "f:4:1: the keys ada (f:1:1) and cem are the same",
        "f:5:1: two keys have the same name, ada (the other: f:1:1): the audit log could not tell them apart",
      ])
    #expect(
      try report(["--operator-key", Self.credential]).faults.map(\.message) == [
        "is the operator key operator as well"
      ])
  }

  @Test("a TLS key that everyone may read is refused, also through a link, and one that no server can use")
  func tlsKey() async throws {
    let certificate = try await TestCertificate(named: "first", in: directory)
    let link = directory.path("link.pem")
    func faults(key: String) throws -> [String] {
      try report(["--tls-certificate", certificate.certificateFile, "--tls-key", key]).faults.map(\.subject)
    }
    let key = try FileSystem.read(certificate.keyFile, upTo: .kibibytes(64))
    try DurableFile.write(key.span, to: directory.path("own.pem"), permissions: 0o640)
    try DurableFile.write(key.span, to: directory.path("open.pem"), permissions: 0o644)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "own.pem")
    #expect(try faults(key: link) == [])
    #expect(try faults(key: directory.path("open.pem")) == ["tls.key"])
    #expect(try faults(key: certificate.certificateFile).contains("tls.certificate"))
    #expect(try faults(key: directory.path("none.pem")) == ["tls.certificate"])
  }

  @Test("the command line's variable gives the server no key")
  func foreignVariable() throws {
    let key = "a-key-of-an-editor-with-few-scopes"
    let foreign = try report([], environment: ["PULLBOX_OPERATOR_KEY": key])
    #expect(try foreign.usable().operatorKey == nil)
    #expect(foreign.warnings.contains { $0.message.contains("PULLBOX_SERVER_OPERATOR_KEY") })
    let own = try report([], environment: ["PULLBOX_SERVER_OPERATOR_KEY": key, "PULLBOX_OPERATOR_KEY": "x"])
    #expect(try own.usable().operatorKey?.revealed == key)
    #expect(own.warnings == [])
  }
}

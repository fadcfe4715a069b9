/// A self-signed certificate and its key in files, made by `openssl`.
public struct TestCertificate: Sendable {
  /// The path of the certificate in PEM.
  public let certificateFile: String
  /// The path of its key in PEM.
  public let keyFile: String

  /// Writes `NAME.pem` and `NAME.key` into `directory`. It holds from now on for so many days.
  public init(named name: String, in directory: TemporaryDirectory, days: Int = 2) async throws {
    certificateFile = directory.path("\(name).pem")
    keyFile = directory.path("\(name).key")
    let openssl = try ChildProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "\(days)",
        "-subj", "/CN=\(name)", "-keyout", keyFile, "-out", certificateFile,
      ], environment: [:], output: directory.path("openssl.log"))
    guard await openssl.ending() == .exited(0) else {
      throw RawConnection.Failure(description: "openssl made no certificate")
    }
  }
}

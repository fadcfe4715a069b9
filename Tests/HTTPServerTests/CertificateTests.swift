import CoreTypes
import Files
import HTTPServer
import PullboxTesting
import SystemCalls
import Testing

/// Certificates and keys in files: what can be used, and how they are replaced.
@Suite(.timeLimit(.minutes(10)))
struct CertificateTests {
  private func replace(_ certificate: TestCertificate, by other: TestCertificate) throws {
    for (old, new) in [
      (certificate.certificateFile, other.certificateFile), (certificate.keyFile, other.keyFile),
    ] {
      let bytes = try FileSystem.read(new, upTo: .kibibytes(64))
      try DurableFile.write(bytes.span, to: old)
    }
  }

  @Test("after a reload new connections get the new certificate, and running bodies go on with the old")
  func reload() async throws {
    let directory = try TemporaryDirectory()
    let certificate = try await TestCertificate(named: "first", in: directory)
    let gate = Gate()
    let begun = Gate()
    let server = try SecureServer(
      certificate,
      respond: { _ in
        HTTPResponse(
          status: .ok,
          body: .stream(contentLength: 10) { writer in
            try await writer.write(Array("first".utf8))
            await begun.open()
            await gate.wait()
            try await writer.write(Array("again".utf8))
          })
      })
    let old = try await server.connect()
    try await old.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    await begun.wait()
    try replace(certificate, by: try await TestCertificate(named: "second", in: directory))
    try server.server.reloadCertificates()
    #expect(try await server.connect().certificateName == "/CN=second")
    await gate.open()
    #expect(try await old.receiveResponse().text == "firstagain")
    try await old.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await old.receiveResponse().text == "firstagain")
    #expect(old.certificateName == "/CN=first")
    await server.server.drain()
  }

  @Test("the end of the certificate in use is that of the file, and a reload's from then on")
  func expiry() async throws {
    let directory = try TemporaryDirectory()
    let certificate = try await TestCertificate(named: "first", in: directory, days: 2)
    let server = try SecureServer(certificate, respond: echo)
    func days() throws -> Double {
      (try #require(server.server.certificateExpiry) - SystemWallClock().now()).inSeconds / 86_400
    }
    #expect((1.99...2.001).contains(try days()))
    try replace(certificate, by: try await TestCertificate(named: "second", in: directory, days: 90))
    #expect(try days() < 2.001)
    try server.server.reloadCertificates()
    #expect((89.99...90.001).contains(try days()))
    await server.server.drain()
  }

  @Test("a bad file leaves the old certificate, and the error names it")
  func badReload() async throws {
    let directory = try TemporaryDirectory()
    let certificate = try await TestCertificate(named: "first", in: directory)
    let other = try await TestCertificate(named: "other", in: directory)
    let server = try SecureServer(certificate, respond: echo)
    let garbage: [UInt8] = Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
    try DurableFile.write(garbage.span, to: certificate.certificateFile)
    let unreadable = #expect(throws: HTTPServerError.self) { try server.server.reloadCertificates() }
    #expect(unreadable?.code == .certificateInvalid)
    #expect(unreadable?.message.contains(certificate.certificateFile) == true)
    let foreign = try FileSystem.read(other.certificateFile, upTo: .kibibytes(64))
    try DurableFile.write(foreign.span, to: certificate.certificateFile)
    let mismatch = #expect(throws: HTTPServerError.self) { try server.server.reloadCertificates() }
    #expect(mismatch?.code == .certificateInvalid)
    #expect(mismatch?.message.contains(certificate.keyFile) == true)
    #expect(try await server.connect().certificateName == "/CN=first")
    await server.server.drain()
  }

  @Test("a server does not start without its files, and leaves nothing open")
  func missingFiles() async throws {
    let directory = try TemporaryDirectory()
    let certificate = try await TestCertificate(named: "first", in: directory)
    try FileSystem.removeFile(certificate.keyFile)
    let error = #expect(throws: HTTPServerError.self) { _ = try SecureServer(certificate) }
    #expect(error?.code == .certificateInvalid)
    #expect(error?.message.contains(certificate.keyFile) == true)
  }

  @Test(
    "a key that others may read is told from one that only owner and group may",
    arguments: [0o600, 0o640, 0o604])
  func exposedKey(permissions: UInt32) throws {
    let directory = try TemporaryDirectory()
    let key: [UInt8] = [1]
    try DurableFile.write(key.span, to: directory.path("key"), permissions: permissions)
    let configuration = TLSConfiguration(certificateFile: "", keyFile: directory.path("key"))
    #expect(try configuration.keyIsExposed() == (permissions == 0o604))
  }
}

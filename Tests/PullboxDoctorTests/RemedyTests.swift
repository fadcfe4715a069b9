import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import PullboxDoctor

/// With the real programs, where they are installed; nginx has tests of its own, with each fault.
@Suite("The lines that the doctor prints, read by the proxies that they are for")
struct RemedyTests {
  private static let apache = program("apache2")
  private static let haproxy = program("haproxy")
  private static let caddy = program("caddy")

  private static func program(_ name: String) -> String? {
    let path = ChildProcess.inheritedEnvironment["PATH"] ?? ""
    let directories = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
    return directories.map { "\($0)/\(name)" }.first { (try? FileSystem.status(of: $0)) != nil }
  }

  /// The lines that are to be there, without what stands behind them in parentheses.
  private static func lines(for proxy: Proxy) -> [String] {
    let all = Cause.allCases.compactMap { $0.remedy.lines[proxy] }.filter { !$0.hasPrefix("no ") }
    return Set(all.map { $0.split(separator: " (").first.map(String.init) ?? $0 }).sorted()
  }

  /// The program's complaint about a configuration; nil if it takes it.
  private func complaint(
    _ program: String, _ arguments: [String], of configuration: String, in directory: TemporaryDirectory
  ) async throws -> String? {
    try DurableFile.write(Array(configuration.utf8).span, to: directory.path("proxy.conf"))
    let log = directory.path("log-\(UInt64.random(in: .min ... .max))")
    let environment = ChildProcess.inheritedEnvironment.merging(["HOME": directory.path]) { $1 }
    let process = try ChildProcess(
      program, arguments + [directory.path("proxy.conf")], environment: environment, output: log)
    guard await process.ending() != .exited(0) else { return nil }
    return String(decoding: try FileSystem.read(log, upTo: .mebibytes(1)), as: UTF8.self)
  }

  /// The path of a file with a certificate and its key.
  private func certificate(in directory: TemporaryDirectory) async throws -> String {
    let (key, certificate) = (directory.path("key.pem"), directory.path("certificate.pem"))
    let openssl = try ChildProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-keyout", key, "-out",
        certificate,
      ],
      environment: [:], output: directory.path("openssl.log"))
    try #require(await openssl.ending() == .exited(0))
    let both =
      try FileSystem.read(certificate, upTo: .mebibytes(1)) + FileSystem.read(key, upTo: .mebibytes(1))
    try DurableFile.write(both.span, to: directory.path("site.pem"))
    return directory.path("site.pem")
  }

  @Test("Apache takes its lines", .enabled(if: apache != nil, "apache2 is not installed"))
  func apacheLines() async throws {
    let directory = try TemporaryDirectory()
    let program = try #require(Self.apache)
    let pem = try await certificate(in: directory)
    let modules = "\(FileSystem.parent(of: FileSystem.parent(of: program)))/lib/apache2/modules"
    let names = [
      "mpm_event", "authz_core", "authn_core", "authn_file", "auth_basic", "socache_shmcb", "ssl", "rewrite",
      "env",
      "deflate", "filter", "cache", "proxy", "proxy_http", "headers",
    ]
    let head = names.map { "LoadModule \($0)_module \(modules)/mod_\($0).so\n" }.joined()
    for line in Self.lines(for: .apache) {
      let text =
        line.replacing("FILE", with: pem).replacing("ProxyPass …", with: "ProxyPass / http://127.0.0.1:8080/")
        .replacing("RewriteRule …", with: "RewriteEngine on\nRewriteRule ^/(.*)$ http://127.0.0.1:8080/$1")
      let site =
        text.hasPrefix("Require ")
        ? "<Location />\n\(text)\n</Location>"
        : text.hasPrefix("SSLEngine ") ? "\(text)\nSSLCertificateFile \(pem)" : text
      let complaint = try await complaint(
        program, ["-t", "-f"],
        of: """
          ServerName x
          \(head)Listen 127.0.0.1:9
          PidFile \(directory.path("pid"))
          ErrorLog \(directory.path("errors"))
          <VirtualHost *:9>
          \(site)
          </VirtualHost>

          """, in: directory)
      #expect(complaint == nil, "\(line)")
    }
  }

  @Test("HAProxy takes its lines", .enabled(if: haproxy != nil, "haproxy is not installed"))
  func haproxyLines() async throws {
    let directory = try TemporaryDirectory()
    let program = try #require(Self.haproxy)
    let pem = try await certificate(in: directory)
    for line in Self.lines(for: .haproxy) {
      let text = "  " + line.replacing("FILE", with: pem)
      let isOfBackend = line.hasPrefix("server ") || line.hasPrefix("timeout server ")
      let complaint = try await complaint(
        program, ["-c", "-f"],
        of: """
          defaults
            mode http
            timeout client 1h
            timeout connect 5s
            timeout server 1m
          frontend site
            bind 127.0.0.1:9
            default_backend pullbox
          \(isOfBackend ? "" : text)
          backend pullbox
          \(isOfBackend ? text : "")

          """, in: directory)
      #expect(complaint == nil, "\(line)")
    }
  }

  @Test("Caddy takes its lines", .enabled(if: caddy != nil, "caddy is not installed"))
  func caddyLines() async throws {
    let directory = try TemporaryDirectory()
    let program = try #require(Self.caddy)
    let pem = try await certificate(in: directory)
    for line in Self.lines(for: .caddy) {
      let text = line.replacing("CERTIFICATE KEY", with: "\(pem) \(pem)")
      let site = line.hasPrefix("flush_interval") ? "reverse_proxy 127.0.0.1:8080 {\n\(text)\n}" : text
      let complaint = try await complaint(
        program, ["validate", "--adapter", "caddyfile", "--config"], of: ":9443 {\n\(site)\n}\n",
        in: directory)
      #expect(complaint == nil, "\(line)")
    }
  }
}

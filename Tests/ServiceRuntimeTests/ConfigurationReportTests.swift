import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import ServiceRuntime

@Suite("What is said of a configuration before anything starts")
struct ConfigurationReportTests {
  private struct Settings: DaemonConfiguration {
    struct Entry: Decodable, Hashable {
      var name: String
      var key: Redacted<String>?
      var count: Int
    }

    struct Store: Decodable {
      var url: String
      var credential: Redacted<String>
    }

    struct TLS: Decodable {
      var key: String
      var certificate: String
    }

    var listen: [String]
    var server: String
    var drain: ConfigurationDuration?
    var store: Store
    var tls: TLS?
    var key: Redacted<String>?
    var entries: [Entry]?
    var loops: Int
    var logLevel: String

    func inspect(_ findings: inout ConfigurationFindings) {
      findings.check("listen") {
        _ = try listen.mapConfiguration { index, address throws(ConfigurationError) in
          guard address.contains(":") else {
            throw ConfigurationError(subject: "listen.\(index)", message: "no port")
          }
        }
      }
      findings.check("server") { try ConfigurationURL.check(server, key: "server") }
      findings.check("store.url") { try ConfigurationURL.check(store.url, key: "store.url") }
      if key == nil { findings.warn("key", "there is none") }
    }
  }

  private static let command = CommandDescription(
    "test", summary: "Test",
    options: [
      .configurationFile, .logLevel.appliedAtReload(),
      .list("listen", "ADDRESS", fallback: "127.0.0.1:1", help: "Where to listen; may be repeated"),
      CommandOption.value("server", "URL", help: "Whom to ask").example("https://a.example"),
      CommandOption.value("drain", "DURATION", help: "How long to wait").example("3s"),
      .value("store-url", "URL", fallback: "http://b.example", key: "store.url", help: "The store"),
      CommandOption.value("store-credential", "SECRET", key: "store.credential", help: "Its secret").secret(),
      CommandOption.value("tls-key", "FILE", key: "tls.key", help: "A key").example("/k"),
      CommandOption.value("tls-certificate", "FILE", key: "tls.certificate", help: "A certificate")
        .example("/c"),
      CommandOption.value("key", "KEY", help: "A key").secret(),
      CommandOption.list("entry", "JSON5", key: "entries", help: "Entries").secret(),
      .value("loops", "N", fallback: "0", help: "How many"),
    ])

  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("test.json5")
  }

  private func report(
    _ text: String?, _ arguments: [String] = [], environment: [String: String] = [:],
    permissions: UInt32 = 0o600
  ) throws -> ConfigurationReport<Settings> {
    var arguments = arguments
    if let text {
      try DurableFile.write(Array(text.utf8).span, to: path, permissions: permissions)
      arguments += ["--config", path]
    }
    guard case .run(let parsed) = try ArgumentParser(Self.command, environment: environment).parse(arguments)
    else { throw UsageError("help") }
    return ConfigurationReport(parsed)
  }

  @Test("all faults are told at once, in the order of the file, each at its place")
  func all() throws {
    let text = """
      {
        lisen: ["a:1"],
        listen: ["nowhere", "a:1", "there"],
        server: "https://u:p@host/",
        drain: "soon",
        store: { url: "ftp://x", credental: "the secret" },
        loops: { a: 1 },
        entries: [{name: "a", count: 1}, {name: "b", count: "x"}, 7, {count: 1}],
        "tls.key": "/k",
        logLevel: "loud",
      }
      """
    let report = try report(text, ["--key", ""])
    #expect(
      report.faults.map(\.description).map { $0.replacing(path, with: "f") } == [
        "f:2:3: lisen: there is no such key",
        "f:3:12: listen.0: no port",
        "f:3:30: listen.2: no port",
        "f:4:11: server: an address without user, password, query and fragment is expected here",
        "f:5:10: drain: a duration such as 30s is expected here, not 'soon'",
        "f:6:17: store.url: an address such as https://comics.example is expected here, http or https with a host",
        "f:6:28: store.credental: there is no such key; did you mean 'store.credential'?",
        "f:7:10: loops: a whole number is expected here, not a table",
        "f:8:55: entries.1.count: a whole number is expected here",
        "f:8:61: entries.2: a table is expected here",
        "f:8:64: entries.3.name: is missing",
        "f:9:3: tls.key: a key has no dot; it is written tls: {key: …}",
        "f:10:13: logLevel: error, warning, info or debug is expected here",
        "--key: key: is empty",
      ])
    #expect(report.missingSecrets == [])
    #expect(!report.lines.joined().contains("the secret"))
    #expect(throws: ConfigurationError.self) { try report.usable() }
  }

  @Test("a syntax error is told with line and column")
  func syntax() throws {
    let report = try report("{\n  listen: ['a:1']\n  loops: 1\n}", ["--server", "http://a", "--loops", "x"])
    #expect(
      report.faults.map(\.description) == [
        "\(path):3:3: a comma or } is expected here, not 'l'",
        "--loops: loops: a whole number is expected here, not 'x'",
      ])
  }

  @Test("a key that is missing is told once, and not again for the value that stands in for it")
  func missing() throws {
    let report = try report("{tls: {key: '/k'}}", environment: ["PULLBOX_STORE_CREDENTIAL": "s"])
    #expect(
      Set(report.faults.map(\.description)) == [
        "configuration: server: is missing", "\(path):1:7: tls.certificate: is missing",
      ])
  }

  @Test("a secret that is missing is no fault before the start, and one at the start")
  func missingSecret() throws {
    let report = try report("{server: 'http://a'}")
    #expect(report.faults == [])
    #expect(report.missingSecrets.map(\.subject) == ["store.credential"])
    #expect(report.lines.first?.contains("store.credential: is missing: a start fails, unless") == true)
    let error = try #require(throws: ConfigurationError.self) { try report.usable() }
    #expect(error.subject == "store.credential")
  }

  @Test("warnings are told, and hinder nothing")
  func warnings() throws {
    let report = try report("{server: 'http://a', store: {credential: 's'}}")
    #expect(report.lines == ["warning: key: there is none"])
    #expect(try report.usable().server == "http://a")
  }

  @Test(
    "a file that holds a secret must not be everyone's; one without may be",
    arguments: [
      ("{server: 'http://a', key: 's'}", UInt32(0o644), true),
      ("{server: 'http://a', key: 's'}", 0o604, true),
      ("{server: 'http://a', key: 's'}", 0o640, false), ("{server: 'http://a'}", 0o644, false),
    ])
  func exposed(text: String, permissions: UInt32, isExposed: Bool) throws {
    let report = try report(text, permissions: permissions)
    #expect(
      report.faults.map(\.message)
        == (isExposed
          ? ["every user of this machine may use this file, which holds key; 'chmod o= \(path)'"] : []))
  }

  @Test("a table without members says nothing, and a value for the whole table is wrong")
  func emptyTables() throws {
    #expect(try report("{server: 'http://a', tls: {}, store: {}}").faults == [])
    #expect(
      try report("{server: 'http://a', store: 'x'}").faults.map(\.message) == [
        "a table is expected here, not 'x'"
      ])
  }

  @Test("what is in effect is listed with its source, and secrets as set or not set")
  func listing() throws {
    let report = try report(
      "{server: 'http://a', entries: [{name: 'a', key: 'hidden', count: 1}]}", ["--loops", "3"],
      environment: ["PULLBOX_STORE_CREDENTIAL": "hidden", "PULLBOX_LISTEN": "a:1,b:2"])
    #expect(
      report.listing.text.replacing(path, with: "f") == """
        logLevel: "info"  // default
        listen: ["a:1", "b:2"]  // PULLBOX_LISTEN
        server: "http://a"  // f:1:10
        drain: not set
        store.url: "http://b.example"  // default
        store.credential: set  // PULLBOX_STORE_CREDENTIAL
        tls.key: not set
        tls.certificate: not set
        key: not set
        entries: set  // f:1:31
        loops: 3  // --loops

        """)
  }

  @Test("an address that may hold a password is listed as set, wherever it comes from")
  func passwords() throws {
    let listing = try report(
      "{server: 'http://u:hidden@a', entries: []}", ["--store-url", "http://u:hid/den@b"],
      environment: ["PULLBOX_LISTEN": "a:1,http://u:hidden@c"]
    ).listing.text.replacing(path, with: "f")
    #expect(!listing.contains("hid"))
    for key in ["server", "store.url", "listen"] {
      #expect(listing.contains("\n\(key): set (holds a password)  // "), "\(key)")
    }
  }

  @Test("control characters of a key and of a value are shown escaped")
  func controls() throws {
    let lines = try report("{server: 'http://a', 'a\\x1b[2J\\nb': 1, loops: '\\x07'}").lines
    #expect(lines.contains { $0.hasSuffix(": a\\u001b[2J\\u000ab: there is no such key") }, "\(lines)")
    #expect(lines.contains { $0.contains("not '\\u0007'") }, "\(lines)")
    #expect(lines.allSatisfy { line in line.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
  }

  @Test("of a file that is too long the bound is told, once")
  func tooLong() throws {
    let lines = try report(String(repeating: " ", count: 1_100_000)).lines
    #expect(
      lines.map { $0.replacing(path, with: "f") }.contains("configuration: f: is longer than 1.0 MiB"),
      "\(lines)")
  }

  @Test("the sample has every key in a comment, and is well-formed with all of them")
  func sample() throws {
    let text = ConfigurationSample(Self.command).text
    #expect(
      text.contains(
        """
          // Where to listen; may be repeated.
          // List of addresses; needs a restart; --listen or PULLBOX_LISTEN.
          // listen: ["127.0.0.1:1"],

          // Whom to ask.
          // URL; needs a restart; --server or PULLBOX_SERVER. There is no default; an example:
          // server: "https://a.example",
        """))
    #expect(text.contains("\n  store: {\n    // The store.\n"))
    #expect(try report(text).faults.map(\.description) == ["configuration: server: is missing"])
    let all = try report(ConfigurationSample(Self.command, keysCount: true).text)
    #expect(all.faults == [])
    #expect(all.configuration?.tls?.certificate == "/c")
    #expect(all.configuration?.drain?.duration == .seconds(3))
    #expect(all.missingSecrets.map(\.subject) == ["store.credential"])
  }

  @Test(
    "addresses of services have a scheme of HTTP and a host",
    arguments: [
      ("https://comics.example", true), ("http://[::1]:8080/base", true), ("HTTP://127.0.0.1", true),
      ("", false), ("not a url", false), ("comics.example", false), ("ftp://comics.example", false),
      ("https://", false), ("https:///path", false), ("https://a b", false), ("http://a:99999", false),
      ("https://u@a", false), ("https://a/?q=1", false), ("https://a/#f", false), ("/path", false),
    ])
  func addresses(text: String, isTaken: Bool) {
    func check() throws { try ConfigurationURL.check(text, key: "k") }
    if isTaken {
      #expect(throws: Never.self) { try check() }
    } else {
      #expect(throws: ConfigurationError.self) { try check() }
    }
  }

  // openssl rand -hex 16 makes 128 bits, -hex 12 makes 96; 22 characters of base64url hold 132.
  @Test(
    "a secret has the bits of its kinds of characters",
    arguments: [
      ("8d77e8ba1d5f3e8c9a4bb6a1c2d3e4f5", 128), ("8d77e8ba1d5f3e8c9a4bb6a1", 96),
      ("Zx81-pQ_cV7tR2mL9kYw0A", 132), ("01234567890123456789", 66), ("x", 4), ("", 0),
      (String(repeating: "ab1", count: 30), 12),
    ])
  func strengths(secret: String, bits: Int) {
    #expect(SecretStrength.bits(of: secret) == bits)
  }
}

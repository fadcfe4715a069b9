import CoreTypes
import HTTPClient
import PullboxTesting
import Testing

@testable import DeliveryService
@testable import PullboxDoctor
@testable import RouteAccess

/// With the real nginx, configured as operators get it, and with one line of that made wrong at a time.
@Suite("The doctor behind nginx", .timeLimit(.minutes(10)))
struct DoctorTests {
  /// A line of the configuration that is made wrong, and what is to be found then.
  struct Fault: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Texts that take the place of others.
    var changes: [(String, String)]
    var options = DoctorTests.trusting
    var pause = 1
    var cause: Cause
    /// The directive in the doctor's line for nginx.
    var line: String?

    init(
      _ description: String, _ changes: [(String, String)], options: [String] = DoctorTests.trusting,
      pause: Int = 1,
      _ cause: Cause, line: String? = nil
    ) {
      testDescription = description
      self.changes = changes
      self.options = options
      self.pause = pause
      self.cause = cause
      self.line = line
    }
  }

  static let trusting = ["--trusted-proxy", "127.0.0.1"]
  static let handingOff = trusting + ["--accel-redirect-prefix", "/pullbox-blobs/"]
  private static let quick = ServerProbe.allCases.filter { !$0.isDeep }

  /// After this line of the site come lines that hold for all its locations.
  private static let all = "client_max_body_size 0;"
  private static func everywhere(_ lines: String) -> (String, String) { (all, "\(all)\n    \(lines)") }
  private static let unbuffered = "proxy_buffering off;"
  private static let buffered = "proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;"
  private static let root = "location / {\n        proxy_pass http://pullbox;"
  private static let operators = ("location /v1/operator {\n        deny all;", "location /v1/operator {")

  /// The findings of the doctor, through nginx with these changes.
  private func findings(
    _ changes: [(String, String)] = [], options: [String] = trusting, url: String = "http://localhost",
    pause: Int = 1, adjust: @Sendable (inout ServerProber.Options) -> Void = { _ in },
    clock: (ManualWallClock) -> Void = { $0.set(SystemWallClock().now()) },
    nginx change: (TemporaryDirectory) async throws -> [(String, String)] = { _ in [] }
  ) async throws -> [Finding] {
    var findings: [Finding] = []
    try await ServerHarness.run(options: options) { server in
      clock(server.clock)
      let nginx = try await Nginx(in: server, changes: changes + (try await change(server.directory)))
      var options = ServerProber.Options()
      options.probes = Self.quick
      options.unixSocketPath = nginx.path
      options.pause = .seconds(pause)
      adjust(&options)
      let seen = await ServerProber(url: url, client: server.client, options: options).observe()
      findings = ServerDiagnosis.findings(seen)
      #expect(await nginx.process.terminateAndWait() == .exited(0))
    }
    return findings
  }

  private func causes(_ findings: [Finding]) -> Set<Cause> { Set(findings.compactMap(\.cause)) }

  @Test("all is well behind the configuration that operators get", arguments: [trusting, handingOff])
  func well(options: [String]) async throws {
    let findings = try await findings(options: options)
    #expect(findings.filter { $0.verdict != .ok } == [])
    #expect(findings.count >= 22)
    #expect(Set(findings.map(\.check)).count == findings.count)
  }

  @Test("all is well without a proxy")
  func direct() async throws {
    try await ServerHarness.run { server in
      server.clock.set(SystemWallClock().now())
      var options = ServerProber.Options()
      options.probes = Self.quick
      options.pause = .seconds(1)
      options.operatorKey = ServerHarness.operatorKey
      let url = "http://\(server.server.addresses[0])/"
      let seen = await ServerProber(url: url, client: server.client, options: options).observe()
      let findings = ServerDiagnosis.findings(seen)
      #expect(findings.filter { $0.verdict != .ok } == [])
      #expect(findings.contains { $0.check == "upload-resumes" })
    }
  }

  @Test("one bad line is named, and nothing else", arguments: faults)
  func fault(_ fault: Fault) async throws {
    let findings = try await findings(fault.changes, options: fault.options, pause: fault.pause)
    #expect(causes(findings) == [fault.cause], "\(findings.filter { $0.verdict != .ok })")
    #expect(findings.allSatisfy { $0.cause != nil || $0.verdict == .ok })
    if let line = fault.line { #expect(fault.cause.remedy.lines[.nginx]?.contains(line) == true) }
  }

  static let faults: [Fault] = [
    Fault(
      "Range dropped", [everywhere("proxy_set_header Range \"\";")], .rangeDropped,
      line: "proxy_set_header Range"),
    Fault(
      "If-Range dropped", [everywhere("proxy_set_header If-Range \"\";")], .ifRangeDropped,
      line: "proxy_set_header If-Range"),
    Fault(
      "If-None-Match dropped", [everywhere("proxy_set_header If-None-Match \"\";")], .ifNoneMatchDropped,
      line: "proxy_set_header If-None-Match"),
    Fault(
      "Authorization dropped", [everywhere("proxy_set_header Authorization \"\";")], .authorizationDropped,
      line: "proxy_set_header Authorization"),
    Fault(
      "the query dropped",
      [(root, "location / {\n        rewrite ^(.*)$ $1? break;\n        proxy_pass http://pullbox;")],
      .queryDropped, line: "proxy_pass"),
    Fault(
      "a cache that answers for ranges",
      [
        ("upstream pullbox {", "proxy_cache_path CACHE keys_zone=packages:1m;\nupstream pullbox {"),
        (unbuffered, "proxy_cache packages; proxy_force_ranges on;"),
      ], .fetchedWhole, line: "proxy_cache off;"),
    Fault(
      "a cache",
      [
        ("upstream pullbox {", "proxy_cache_path CACHE keys_zone=packages:1m;\nupstream pullbox {"),
        (unbuffered, "proxy_cache packages;"),
      ], .fetchedWhole, line: "proxy_cache off;"),
    Fault("gzip", [everywhere("gzip on; gzip_types *; gzip_proxied any;")], .contentCoded, line: "gzip off;"),
    Fault(
      "ETag removed", [everywhere("proxy_hide_header ETag;")], .entityTagRemoved,
      line: "proxy_hide_header ETag"),
    Fault(
      "ETag weakened", [everywhere("proxy_hide_header ETag; add_header ETag \"W/$upstream_http_etag\";")],
      .entityTagWeakened),
    Fault(
      "ETag changed", [everywhere("proxy_hide_header ETag; add_header ETag '\"of-nginx\"';")],
      .entityTagChanged,
      line: "add_header ETag"),
    Fault(
      "bodies rewritten",
      [everywhere("sub_filter 'http://pull.example' 'https://pull.example'; sub_filter_types *;")],
      .bodyRewritten, line: "sub_filter"),
    Fault("bodies gathered", [(unbuffered, buffered)], .buffered, line: "proxy_buffering off;"),
    Fault(
      "a body that rests is cut", [("proxy_read_timeout 3600s;", "proxy_read_timeout 1s;")], pause: 4,
      .cutWhilePaused,
      line: "proxy_read_timeout"),
    Fault(
      "refusals replaced",
      [
        everywhere("proxy_intercept_errors on; error_page 404 @sorry;"),
        (root, "location @sorry { return 404 sorry; }\n    \(root)"),
      ], .errorsReplaced, line: "proxy_intercept_errors off;"),
    Fault(
      "416 replaced",
      [
        everywhere("proxy_intercept_errors on; error_page 416 /sorry;"),
        (root, "location = /sorry { internal; return 200 sorry; }\n    \(root)"),
      ], .errorsReplaced, line: "proxy_intercept_errors off;"),
    Fault(
      "a log-in of nginx's own", [everywhere("auth_basic pullbox; auth_basic_user_file /dev/null;")],
      .logInWanted,
      line: "auth_basic off;"),
    Fault(
      "clients not named", [("proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;", "")],
      .clientNotNamed,
      line: "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"),
    Fault("a proxy that is not trusted", [], options: [], .proxyNotTrusted),
    Fault(
      "metrics for the world", [("location = /metrics {\n        deny all;", "location = /metrics {")],
      .metricsOpen,
      line: "location = /metrics { deny all; }"),
    Fault(
      "the server is away",
      [(root, "location / { return 502; }\n location /x {\n proxy_pass http://pullbox;")], .serverAway),
    Fault(
      "an address that moved",
      [
        (
          root,
          "location / { return 301 https://$host$request_uri; }\n location /x {\n proxy_pass http://pullbox;"
        )
      ],
      .redirected),
    Fault(
      "a portal that redirects",
      [
        (
          root,
          "location / { return 302 http://portal.example/; }\n location /x {\n proxy_pass http://pullbox;"
        )
      ], .portal),
    Fault(
      "a portal's page",
      [
        (
          root,
          "location / { return 200 '<html>Sign in</html>'; }\n location /x {\n proxy_pass http://pullbox;"
        )
      ],
      .portal),
    Fault(
      "a hand-off to nowhere", [("location /pullbox-blobs/ {", "location /elsewhere/ {")],
      options: handingOff,
      .handOffBroken, line: "location /pullbox-blobs/"),
    Fault(
      "a hand-off that loses the entity tag", [("add_header ETag $upstream_http_etag;", "")],
      options: handingOff,
      .handOffBroken, line: "location /pullbox-blobs/"),
  ]

  @Test(
    "with an operator key uploads are tried, and the line is named that stops them",
    arguments: [
      ([operators], nil, nil),
      ([operators, (all, "client_max_body_size 1m;")], Cause.bodyLimited, "client_max_body_size 0;"),
      (
        [operators, ("proxy_request_buffering off;", "proxy_request_buffering on;")], .requestBuffered,
        "proxy_request_buffering off;"
      ),
      (
        [(operators.0, "location /v1/operator {\n        limit_except GET POST { deny all; }")],
        .methodRefused,
        "limit_except"
      ),
    ] as [([(String, String)], Cause?, String?)])
  func uploads(changes: [(String, String)], cause: Cause?, line: String?) async throws {
    let findings = try await findings(
      changes,
      adjust: { options in
        options.operatorKey = ServerHarness.operatorKey
        options.probes = [.report]
      })
    #expect(findings.contains { $0.check == "upload" })
    #expect(causes(findings) == Set([cause].compactMap { $0 }), "\(findings)")
    if let line { #expect(cause?.remedy.lines[.nginx]?.contains(line) == true) }
  }

  @Test("operators' routes that are closed are told of, and are no fault")
  func closed() async throws {
    let findings = try await findings(adjust: { options in
      options.operatorKey = ServerHarness.operatorKey
      options.probes = [.report]
    })
    #expect(findings.filter { $0.check == "upload" }.map(\.verdict) == [.warning])
    #expect(causes(findings) == [])
  }

  /// Changes by which a second server of nginx stands between and gives up after a second what takes nothing, as
  /// pullbox-server does after a minute; the first one gathers at most 4 MiB on the disk.
  private static func bounded(in directory: TemporaryDirectory) -> [(String, String)] {
    let path = directory.path("between.sock")
    return [
      (unbuffered, buffered), ("proxy_max_temp_file_size 0;", "proxy_max_temp_file_size 4m;"),
      (
        "upstream pullbox {",
        """
        upstream pullbox { server unix:\(path); }
        server {
            listen unix:\(path);
            send_timeout 1s;
            proxy_buffering off;
            location / { proxy_pass http://between; }
        }
        upstream between {
        """
      ),
    ]
  }

  @Test("a long body that is gathered on the disk and cut there is found by reading slowly")
  func truncation() async throws {
    for (isBounded, cause) in [(true, Cause.truncated), (false, nil)] {
      let findings = try await findings(
        adjust: { options in
          options.isDeep = true
          options.probes = [.report, .whole, .slowBody]
          options.slowLength = 64 << 20
          options.slowness = .seconds(4)
        }, nginx: { isBounded ? Self.bounded(in: $0) : [] })
      #expect(findings.contains { $0.check == "slow-body" })
      #expect(causes(findings) == Set([cause].compactMap { $0 }), "\(findings)")
    }
  }

  @Test("a byte that is changed on the way is named, with its place")
  func damage() async throws {
    try await ServerHarness.run { server in
      server.clock.set(SystemWallClock().now())
      let proxy = try PackageProxy()
      defer { proxy.close() }
      proxy.setUpstream(
        port: server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      proxy.flip(at: 1500)
      var options = ServerProber.Options()
      options.probes = [.report, .dressedReport, .whole, .range]
      let seen = await ServerProber(url: proxy.url, client: server.client, options: options).observe()
      let findings = ServerDiagnosis.findings(seen)
      #expect(causes(findings) == [.bytesDamaged], "\(findings)")
      let range = findings.first { $0.check == "range" }
      #expect(range?.message.hasSuffix("from byte 1500 of the content on") == true)
      #expect(findings.first { $0.check == "body" }?.verdict == .ok)
    }
  }

  @Test("once the time for all is over, nothing more is asked")
  func limit() async throws {
    let findings = try await findings(adjust: { $0.limit = .seconds(-10) })
    #expect(findings.map(\.check) == ["time"])
  }

  @Test("a server whose clock is wrong is told from a proxy whose clock is")
  func clocks() async throws {
    let findings = try await findings(
      adjust: { $0.probes = [.report] }, clock: { $0.set(SystemWallClock().now() - .seconds(3600)) })
    #expect(causes(findings) == [.serverClock])
    #expect(findings.first { $0.check == "clock" }?.verdict == .failure)
  }

  @Test("a certificate of another name, of an unknown authority or out of date is named as that")
  func certificates() async throws {
    for (url, trusts, days, cause) in [
      ("https://pull.example", true, "30", Cause?.none),
      ("https://pull.example", true, "3", .certificateEndsSoon),
      ("https://other.example", true, "30", .certificateForAnotherName),
      ("https://pull.example", false, "30", .certificateUntrusted),
      ("https://pull.example", true, "-1", .certificateOutOfDate),
    ] {
      let file = Locked<String?>(nil)
      let findings = try await findings(
        url: url,
        adjust: { options in
          options.probes = [.report]
          if trusts { options.certificateAuthorityFile = file.current }
        },
        nginx: { directory in
          let certificate = try await Self.certificate(in: directory, days: days)
          file.withLock { $0 = certificate }
          return [
            (
              "listen 80;",
              "listen 80 ssl; ssl_protocols TLSv1.3; ssl_certificate \(certificate); ssl_certificate_key \(certificate).key;"
            )
          ]
        })
      #expect(causes(findings) == Set([cause].compactMap { $0 }), "\(findings)")
      guard cause == nil else { continue }
      #expect(findings.first { $0.check == "tls" }?.message.hasSuffix("; TLSv1.3") == true, "\(findings)")
    }
  }

  /// The path of a certificate for pull.example that ends so many days from now; its key is beside it.
  private static func certificate(in directory: TemporaryDirectory, days: String) async throws -> String {
    let path = directory.path("site.pem")
    for arguments in [
      [
        "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
        "/CN=pull.example",
        "-keyout", path + ".key", "-out", path + ".csr",
      ],
      ["x509", "-req", "-in", path + ".csr", "-signkey", path + ".key", "-days", days, "-out", path],
    ] {
      let openssl = try ChildProcess(
        "/usr/bin/openssl", arguments, environment: [:], output: directory.path("openssl.log"))
      try #require(await openssl.ending() == .exited(0))
    }
    return path
  }
}

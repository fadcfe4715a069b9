import CoreTypes
import HTTPClient
import PullboxAPI
import ServiceAPI
import Testing

@testable import PullboxDoctor

@Suite("Findings about a server")
struct ServerDiagnosisTests {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
  private static let url = "https://pull.example"

  private static func report(
    time: Timestamp = now, fields: [String] = [], parameters: [String] = [], isTrusted: Bool = false
  ) throws -> [UInt8] {
    try APIJSON.encode(
      DiagnosticReport(
        version: "1.2.3", time: time, client: "192.0.2.7", isProxyTrusted: isTrusted, handsOff: false,
        fields: fields, parameters: parameters))
  }

  private static func answer(
    _ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = [], isRight: Bool = true,
    length: Int64? = nil
  ) -> ProbeAnswer {
    let head = ResponseHead(
      status: status, headers: ResponseFields(fields.map { ResponseFields.Field(name: $0, value: $1) }))
    return ProbeAnswer(
      head: head, length: length ?? Int64(body.count), isRight: isRight, beginning: body, began: now,
      duration: .milliseconds(80))
  }

  private static func failed(_ code: HTTPClientError.Code) -> ProbeAnswer {
    ProbeAnswer(failure: ProbeAnswer.Failure(code, "it failed"), began: now)
  }

  /// The findings if the plain request is answered so.
  private func findings(_ answer: ProbeAnswer, url: String = Self.url) -> [Finding] {
    var seen = ServerObservations(url: url, pause: .seconds(5))
    seen[.report] = answer
    return ServerDiagnosis.findings(seen)
  }

  @Test(
    "what keeps the server from being reached is named, and nothing else is judged",
    arguments: [
      (HTTPClientError.Code.hostNotFound, ["address"], Cause.nameUnknown),
      (.connectionFailed, ["address"], .notReached), (.timedOut, ["address"], .notReached),
      (.certificateNotTrusted, ["address", "tls"], .certificateUntrusted),
      (.certificateOutOfDate, ["address", "tls"], .certificateOutOfDate),
      (.certificateForAnotherName, ["address", "tls"], .certificateForAnotherName),
    ])
  func unreached(code: HTTPClientError.Code, checks: [String], cause: Cause) {
    let found = findings(Self.failed(code))
    #expect(found.map(\.check) == checks)
    #expect(found.compactMap(\.cause) == [cause])
    #expect(Finding.conclusion(found) == .failure)
  }

  @Test(
    "what accepts a connection and says nothing is told from what is not reached",
    arguments: [HTTPClientError.Code.timedOut, .connectionLost])
  func silent(code: HTTPClientError.Code) {
    let answer = ProbeAnswer(
      failure: ProbeAnswer.Failure(code, "it failed", wasConnected: true), began: Self.now)
    let found = findings(answer)
    #expect(found.map(\.check) == ["address"])
    #expect(found.first?.cause == .silent)
    #expect(found.first?.message.contains("accepts the connection") == true)
  }

  @Test("a body of the right length with other bytes is damaged; one without its length was rewritten")
  func damaged() throws {
    for (probe, check) in [(ServerProbe.whole, "body"), (.file, "file")] {
      for length in [String(probe.completeLength), nil] {
        var seen = ServerObservations(url: Self.url, pause: .seconds(5))
        seen[.report] = Self.answer(200, body: try Self.report(fields: ["range", "if-none-match"]))
        var answer = Self.answer(
          200, length.map { [("Content-Length", $0)] } ?? [], isRight: false, length: probe.completeLength)
        answer.firstWrongByte = 70_123
        seen[probe] = answer
        let finding = ServerDiagnosis.findings(seen).first { $0.check == check }
        #expect(finding?.verdict == .failure)
        if length != nil {
          #expect(finding?.cause == .bytesDamaged)
          #expect(finding?.message.contains("byte 70123 of the content") == true)
        } else {
          #expect(finding?.cause != .bytesDamaged)
        }
      }
    }
  }

  @Test("what was not asked, since the time was over, is told, and nothing is called well for it")
  func unasked() throws {
    var seen = ServerObservations(url: Self.url, pause: .seconds(5))
    seen[.report] = Self.answer(200, body: try Self.report())
    seen.unasked = [.paused, .file]
    let found = ServerDiagnosis.findings(seen)
    #expect(found.last?.check == "time")
    #expect(found.last?.message.hasSuffix("left out: paused, file") == true)
    #expect(Finding.conclusion(found.filter { $0.check == "time" }) == .undetermined)
  }

  @Test("what answers instead of the server is told apart")
  func impostors() throws {
    let page = Array("<html>Sign in</html>".utf8)
    let missing = try APIJSON.encode(Problem(.notFound))
    for (answer, url, cause, verdict) in [
      (Self.answer(200, body: page), Self.url, Cause.portal, Finding.Verdict.failure),
      (Self.answer(511, body: page), Self.url, .portal, .failure),
      (Self.answer(302, [("Location", "http://portal.example/")]), "http://pull.example", .portal, .failure),
      (
        Self.answer(301, [("Location", "https://pull.example/")]), "http://pull.example", .redirected,
        .failure
      ),
      (Self.answer(308, [("Location", "https://other.example/")]), Self.url, .redirected, .failure),
      (Self.answer(401, [("WWW-Authenticate", "Basic")]), Self.url, .logInWanted, .failure),
      (Self.answer(502, body: page), Self.url, .serverAway, .failure),
      (Self.answer(504, body: page), Self.url, .serverAway, .failure),
      (Self.answer(404, body: missing), Self.url, .noDiagnostics, .undetermined),
    ] {
      let found = findings(answer, url: url)
      #expect(found.last?.cause == cause, "\(answer.outcome)")
      #expect(Finding.conclusion(found.filter { $0.check == "server" }) == verdict, "\(answer.outcome)")
    }
  }

  @Test("a 404 without a problem document is another server's")
  func otherServer() {
    let found = findings(Self.answer(404, body: Array("<html>none</html>".utf8)))
    let server = found.first { $0.check == "server" }
    #expect(server?.verdict == .failure)
    #expect(server?.cause == nil)
    #expect(server?.message.contains("no Pullbox server") == true)
  }

  @Test(
    "a body that is refused for now tells nothing of the way, and the line tells why", arguments: [429, 503])
  func refusedBodies(status: Int) throws {
    var problem = Problem(.unavailable, "8 diagnostic bodies are being sent")
    problem.status = status
    let body = try APIJSON.encode(problem)
    var seen = ServerObservations(url: Self.url, pause: .seconds(5))
    seen[.report] = Self.answer(200, body: try Self.report())
    for probe in [ServerProbe.paused, .file, .unsatisfiableRange, .rangeBeyond2GiB, .refusal] {
      seen[probe] = Self.answer(status, [("Retry-After", "2")], body: body)
      seen[probe]?.firstByte = .milliseconds(3)
    }
    let found = ServerDiagnosis.findings(seen)
    for check in ["buffering", "pause", "file", "no-such-range", "beyond-2gib", "refusals"] {
      let finding = found.first { $0.check == check }
      #expect(finding?.verdict == .undetermined, "\(check)")
      let told = "status \(status): 8 diagnostic bodies are being sent (Retry-After: 2)"
      #expect(finding?.message == told, "\(check)")
    }
  }

  @Test("of three clocks the one is named that differs from the others")
  func clocks() throws {
    let date = "Sat, 21 Nov 2026 08:30:00 GMT"
    let late = "Sat, 21 Nov 2026 08:40:00 GMT"
    let (hour, minute) = (Duration.seconds(3600), Duration.seconds(60))
    for (time, date, cause, verdict) in [
      (Self.now, date, Cause?.none, Finding.Verdict.ok), (Self.now + .seconds(25), date, nil, .ok),
      (Self.now + hour, date, .serverClock, .failure), (Self.now - minute, date, .serverClock, .warning),
      (Self.now + .seconds(600), late, .ownClock, .failure), (Self.now, late, .proxyClock, .warning),
    ] {
      let found = findings(Self.answer(200, [("Date", date)], body: try Self.report(time: time)))
      let clock = try #require(found.first { $0.check == "clock" })
      #expect(clock.cause == cause)
      #expect(clock.verdict == verdict)
    }
  }

  @Test("a certificate that ends within two weeks is warned of")
  func certificates() throws {
    for (days, cause) in [(13, Cause.certificateEndsSoon), (15, nil)] {
      var answer = Self.answer(200, body: try Self.report())
      answer.connection = ConnectionDetails(
        remoteAddress: "192.0.2.1", certificateExpiry: Self.now + .seconds(days * 86_400))
      #expect(findings(answer).first { $0.check == "tls" }?.cause == cause)
    }
  }

  @Test("a range that did not arrive is told from one that was not answered, and from a cache")
  func ranges() throws {
    for (arrived, cause) in [
      (["if-none-match", "range"], Cause.rangeUndone), (["if-none-match"], .rangeDropped),
      ([], .fetchedWhole),
    ] {
      var seen = ServerObservations(url: Self.url, pause: .seconds(5))
      seen[.report] = Self.answer(200, body: try Self.report())
      seen[.dressedReport] = Self.answer(200, body: try Self.report(fields: ["authorization"] + arrived))
      seen[.range] = Self.answer(200, length: ServerProbe.length)
      #expect(!seen.isWorthAsking(.suffixRange))
      #expect(ServerDiagnosis.findings(seen).first { $0.check == "range" }?.cause == cause)
    }
  }

  @Test("bytes of another place, or another place in Content-Range, are not the range")
  func wrongRanges() throws {
    var seen = ServerObservations(url: Self.url, pause: .seconds(5))
    seen[.report] = Self.answer(200, body: try Self.report())
    // 2^31 + 5 counted in 32 bits with a sign.
    let wrapped = "bytes 5-1004/8589934592"
    let right = "bytes 2147483653-2147484652/8589934592"
    for (field, isRight, isFound) in [(right, true, false), (wrapped, true, true), (right, false, true)] {
      seen[.rangeBeyond2GiB] = Self.answer(206, [("Content-Range", field)], isRight: isRight, length: 1000)
      let finding = ServerDiagnosis.findings(seen).first { $0.check == "beyond-2gib" }
      #expect(finding?.cause == (isFound ? .offsetsWrapped : nil), "\(field)")
    }
  }

  @Test("a long body that ends early is called truncated")
  func truncated() throws {
    for (probe, length) in [
      (ServerProbe.longBody, ServerProbe.longLength), (.slowBody, ServerProbe.slowLength),
    ] {
      for (length, cause) in [(length, Cause?.none), (1 << 30, .truncated)] {
        var seen = ServerObservations(url: Self.url, pause: .seconds(5))
        seen[.report] = Self.answer(200, body: try Self.report())
        seen[probe] = Self.answer(200, length: length)
        if cause != nil { seen[probe]?.failure = ProbeAnswer.Failure(.connectionLost, "it ended") }
        #expect(ServerDiagnosis.findings(seen).compactMap(\.cause) == [cause].compactMap { $0 })
      }
    }
  }

  @Test("what could not be found out is worse than a warning, and better than what is wrong")
  func conclusion() {
    func conclusion(_ verdicts: [Finding.Verdict]) -> Finding.Verdict {
      Finding.conclusion(verdicts.map { Finding("a", $0, "b") })
    }
    #expect(conclusion([]) == .ok)
    #expect(conclusion([.ok, .warning]) == .warning)
    #expect(conclusion([.undetermined, .warning]) == .undetermined)
    #expect(conclusion([.undetermined, .failure, .ok]) == .failure)
  }

  @Test("every cause has a remedy, and a proxy's fault a line for each proxy", arguments: Cause.allCases)
  func remedies(cause: Cause) {
    #expect(cause.remedy.advice != nil || !cause.remedy.lines.isEmpty)
    #expect(cause.remedy.lines.isEmpty || cause.remedy.lines.count == Proxy.allCases.count)
  }

  @Test(
    "a proxy is known by what it calls itself",
    arguments: [
      ("nginx/1.22.1", nil, Proxy.nginx), ("Apache/2.4.57 (Debian)", nil, .apache), ("Caddy", nil, .caddy),
      (nil, "1.1 Caddy", .caddy), ("pullbox", nil, nil), (nil, nil, nil),
    ] as [(String?, String?, Proxy?)])
  func proxies(server: String?, via: String?, proxy: Proxy?) {
    #expect(Proxy(server: server, via: via) == proxy)
  }
}

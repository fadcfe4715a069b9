import PullboxTesting
import Testing

/// Bounded runs of the fuzz target; `scripts/fuzz` runs it without bounds.
struct FuzzTests {
  static func mutator() -> Mutator {
    Mutator(
      seed: 6,
      seeds: [
        "\0\0\0GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /fx HTTP/1.1\r\nHost: h\r\n\r\n",
        "\n%-GET /m123 HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "\u{1},@POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /a HTTP/1.1\r\nHost: h\r\n\r\n",
        "\u{1C}IRPUT /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
          + "3\r\nabc\r\n0\r\nA: b\r\n\r\nGET /s HTTP/1.1\r\nHost: h\r\n\r\n",
        "\u{4}Q$POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n123456789",
        "\0??" + String(repeating: "GET /fabcd HTTP/1.1\r\nHost:h\r\n\r\n", count: 24),
      ],
      words: [
        "\r\n", "\n", "0\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "Content-Length: 3\r\n", "HEAD /s ",
        "Connection: close\r\n", "Expect: 100-continue\r\n", "Transfer-Encoding: chunked\r\n", "\0", " ",
      ])
  }

  /// Some thousand: each is some hundred parts and turns.
  @Test("no mutation of an input breaks a rule", arguments: FuzzTarget.allCases)
  func mutations(_ target: FuzzTarget) {
    var mutator = Self.mutator()
    if let failure = mutator.firstFailure(in: 2000, of: target.check) {
      Issue.record("\(target): \(failure)")
    }
  }
}

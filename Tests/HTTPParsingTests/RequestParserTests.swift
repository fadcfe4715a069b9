import Testing

@testable import HTTPParsing

struct RequestParserTests {
  @Test("a plain request is read into positions")
  func plain() {
    let head = parse(
      "GET /v1/content/ab?ticket=t HTTP/1.1\r\nHost: example.com:80\r\nRange:\tbytes=0-5 \r\nEmpty:\r\n\r\nrest"
    )
    #expect(head.answer == .complete)
    #expect(head.method == "GET")
    #expect(head.target == "/v1/content/ab?ticket=t")
    #expect(head.path == "/v1/content/ab")
    #expect(head.query == "ticket=t")
    #expect(head.fields == ["Host=example.com:80", "Range=bytes=0-5", "Empty="])
    #expect(head.content == .none)
    #expect(head.keepsAlive)
    #expect(head.authority == "example.com:80")
    #expect(head.length == 89)
  }

  @Test("a known field is found in any case, and only under its own name", arguments: KnownField.allCases)
  func knownFields(_ known: KnownField) {
    let name = known.packedName.text
    for spelling in [name, name.uppercased()] {
      let bytes = Array(spelling.utf8)
      #expect(KnownField.named(bytes.span, start: 0, length: bytes.count) == known)
    }
    for place in 0..<name.utf8.count {
      for byte in "q_-".utf8 where byte != Array(name.utf8)[place] {
        var other = Array(name.utf8)
        other[place] = byte
        #expect(KnownField.named(other.span, start: 0, length: other.count) == nil)
        other += Array(": value of the field".utf8)
        #expect(KnownField.named(other.span, start: 0, length: name.utf8.count) == nil)
      }
    }
    let longer = Array((name + "s").utf8)
    #expect(KnownField.named(longer.span, start: 0, length: longer.count) == nil)
  }

  @Test("known fields bear their registered names")
  func knownNames() {
    #expect(
      KnownField.allCases.map(\.packedName.text) == [
        "host", "content-length", "transfer-encoding", "connection", "expect", "range", "if-range",
        "if-match",
        "if-none-match", "if-modified-since", "if-unmodified-since", "authorization",
      ])
    #expect(KnownField.allCases.count == KnownField.count)
  }

  @Test("a repeated known field is told apart from a single one")
  func repeated() {
    let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\nrange: bytes=2-3\r\n\r\n".utf8)
    var parser = RequestParser()
    #expect(parser.parse(bytes.span, limits: testLimits) == .complete)
    let (isRepeated, isHostRepeated) = (parser.head.isRepeated(.range), parser.head.isRepeated(.host))
    #expect(isRepeated)
    #expect(!isHostRepeated)
  }

  @Test("the parser is as new after a reset")
  func reset() {
    let first = Array("POST /a?b HTTP/1.0\r\nContent-Length: 5\r\nConnection: close\r\n\r\n".utf8)
    let second = Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    var parser = RequestParser()
    #expect(parser.parse(first.span, limits: testLimits) == .complete)
    parser.reset()
    let answer = parser.parse(second.span, limits: testLimits)
    #expect(ParsedHead(answer, head: parser.head, bytes: second) == parse(second))
  }

  @Test(
    "framing is read where it is plain",
    arguments: [
      ("Content-Length: 5", RequestContent.length(5)), ("Content-Length: 0", .none),
      ("content-length:\t7 ", .length(7)), ("Content-Length:  5", .length(5)),
      ("Content-Length: 9223372036854775807", .length(.max)),
      ("Transfer-Encoding: chunked", .chunked), ("Transfer-Encoding: CHUNKED", .chunked),
      ("transfer-encoding:chunked ", .chunked),
    ])
  func plainFraming(field: String, content: RequestContent) {
    let head = parse("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n")
    #expect(head.answer == .complete)
    #expect(head.content == content)
  }

  @Test(
    "a connection is kept unless one side cannot or does not want to",
    arguments: [
      ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", true),
      ("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false),
      ("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade , CLOSE\r\n\r\n", false),
      ("GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", false),
      ("GET / HTTP/1.1\r\nHost: h\r\nConnection: closed\r\n\r\n", true),
      ("GET / HTTP/1.0\r\n\r\n", false),
      ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
      ("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false),
      ("GET / HTTP/1.9\r\nHost: h\r\n\r\n", true),
    ])
  func keepAlive(request: String, keeps: Bool) {
    let head = parse(request)
    #expect(head.answer == .complete)
    #expect(head.keepsAlive == keeps)
  }

  @Test("only an HTTP/1.1 client can expect an interim response")
  func expectation() {
    let fields = "Host: h\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n"
    #expect(parse("PUT / HTTP/1.1\r\n\(fields)").expectsContinue)
    #expect(!parse("PUT / HTTP/1.0\r\n\(fields)").expectsContinue)
    #expect(parse("PUT / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n").answer == .invalid(.expectationFailed))
  }

  @Test(
    "an absolute target names the host, and must not differ from the field",
    arguments: [
      ("http://h/p?q", "h", "/p?q"), ("HTTP://h:80/", "h:80", "/"), ("https://h", "h", "/"),
      ("http://[::1]:8080/x", "[::1]:8080", "/x"),
    ])
  func absoluteForm(target: String, host: String, path: String) {
    let head = parse("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    #expect(head.answer == .complete)
    #expect(head.authority == host)
    #expect(head.target == path)
    #expect(parse("GET \(target) HTTP/1.1\r\nHost: other\r\n\r\n").answer == .invalid(.badRequest))
  }

  @Test("one empty line before a request is skipped, a second is not")
  func leadingLine() {
    #expect(parse("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").answer == .complete)
    #expect(parse("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").answer == .invalid(.badRequest))
  }

  @Test("limits are kept to the byte")
  func limits() {
    let limits = RequestLimits(requestLineLength: 20, headLength: 40, fields: 2)
    func answer(_ text: String) -> RequestParser.Answer { parse(text, limits: limits).answer }
    #expect(answer("GET /1234 HTTP/1.1\r") == .needsMore)
    #expect(answer("GET /1234 HTTP/1.1\r\n") == .needsMore)
    #expect(answer("GET /12345 HTTP/1.1\r\n") == .invalid(.targetTooLong))
    #expect(answer("GET /12345678901234567890") == .invalid(.targetTooLong))
    #expect(answer("GET / HTTP/1.1\r\nHost: 12345678901234\r\n\r\n") == .complete)
    #expect(answer("GET / HTTP/1.1\r\nHost: 123456789012345\r\n\r\n") == .invalid(.fieldsTooLarge))
    #expect(answer("GET / HTTP/1.1\r\nHost: h\r\na: b\r\n\r\n") == .complete)
    #expect(answer("GET / HTTP/1.1\r\nHost:h\r\na:b\r\nc:d\r\n\r\n") == .invalid(.fieldsTooLarge))
  }
}

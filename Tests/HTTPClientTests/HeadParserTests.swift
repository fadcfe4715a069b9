import Testing

@testable import HTTPClient

struct HeadParserTests {
  private func parse(_ lines: String...) -> HeadParser.Outcome {
    var parser = HeadParser()
    var outcome = HeadParser.Outcome.incomplete
    for line in lines {
      let bytes = Array((line + "\r\n").utf8)
      outcome = parser.accept(line: bytes.span)
      if case .violation = outcome { return outcome }
    }
    return outcome
  }

  @Test("every field comes out, in order, without the space around its value")
  func fields() throws {
    guard
      case .head(let head) = parse(
        "HTTP/1.1 206 Partial Content", "ETag:\t\"a\" ", "content-range: bytes 0-9/100", "X-Empty:",
        "etag: \"b\"", "")
    else {
      Issue.record("no head")
      return
    }
    #expect(head.status == 206)
    #expect(head.headers.map(\.name) == ["ETag", "content-range", "X-Empty", "etag"])
    #expect(head.headers.map(\.value) == ["\"a\"", "bytes 0-9/100", "", "\"b\""])
    #expect(head.headers["ETAG"] == "\"a\"")
    #expect(head.headers.values(of: "eTag") == ["\"a\"", "\"b\""])
    #expect(head.contentRange == ContentRange(range: 0..<10, completeLength: 100))
  }

  @Test("a status line without a reason is enough")
  func noReason() {
    #expect(parse("HTTP/1.1 200", "") == .head(ResponseHead(status: 200)))
    #expect(parse("HTTP/1.1 200 ", "") == .head(ResponseHead(status: 200)))
  }

  @Test("a folded line belongs to the field before it (RFC 9112 section 5.2)")
  func folding() {
    #expect(
      parse("HTTP/1.1 200 OK", "X-Long: one", "  two", "")
        == .head(
          ResponseHead(status: 200, headers: ResponseFields([.init(name: "X-Long", value: "one two")]))))
    #expect(
      parse("HTTP/1.1 200 OK", "X-Long: one", "  ", "")
        == .head(ResponseHead(status: 200, headers: ResponseFields([.init(name: "X-Long", value: "one")]))))
  }

  @Test("a carriage return within a line is no part of a field (RFC 9112 section 2.2)")
  func carriageReturn() {
    guard case .violation = parse("HTTP/1.1 200 OK", "X: a\rContent-Length: 0", "") else {
      Issue.record("a field with a carriage return")
      return
    }
  }

  @Test(
    "a second carriage return at a line's end, and a line feed before it, are none of the line break (RFC 9112 section 2.2)",
    arguments: [
      ["HTTP/1.1 200 OK\r", ""], ["HTTP/1.1 200\r", ""], ["HTTP/1.1 200 OK", "X: a\r", ""],
      ["HTTP/1.1 200 OK", "X:\r", ""], ["HTTP/1.1 200 OK", "X: a", " b\r", ""], ["HTTP/1.1 200 OK", "\r"],
      ["HTTP/1.1 200 OK", "X: a", "\r\r"], ["HTTP/1.1 200 OK", "X: a\nY: b", ""],
    ])
  func carriageReturnAtTheEnd(lines: [String]) {
    var parser = HeadParser()
    var outcome = HeadParser.Outcome.incomplete
    for line in lines {
      let bytes = Array((line + "\r\n").utf8)
      outcome = parser.accept(line: bytes.span)
      guard outcome == .incomplete else { break }
    }
    #expect(outcome == .violation("the response's head has a carriage return or a line feed within a line"))
  }

  @Test("a line may end with a line feed alone (RFC 9112 section 2.2)")
  func lineFeed() {
    var parser = HeadParser()
    var outcome = HeadParser.Outcome.incomplete
    for line in ["HTTP/1.1 200 OK\n", "X: a\n", "\n"] {
      let bytes = Array(line.utf8)
      outcome = parser.accept(line: bytes.span)
    }
    #expect(
      outcome
        == .head(ResponseHead(status: 200, headers: ResponseFields([.init(name: "X", value: "a")]))))
  }

  @Test("a parser that gave a head takes the next one")
  func twoHeads() {
    #expect(
      parse("HTTP/1.1 103 Early Hints", "Link: a", "", "HTTP/1.1 200 OK", "")
        == .head(ResponseHead(status: 200)))
  }

  @Test(
    "what is no status line is a violation",
    arguments: [
      "", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 abc", "HTTP/1.1 2000 OK", "SSH-2.0-x", "HTTP/1.1 099 x",
    ])
  func statusLines(line: String) {
    guard case .violation = parse(line) else {
      Issue.record("accepted: \(line)")
      return
    }
  }

  @Test("what is no field is a violation", arguments: ["no colon", ": no name", " folded first"])
  func fieldLines(line: String) {
    guard case .violation = parse("HTTP/1.1 200 OK", line) else {
      Issue.record("accepted: \(line)")
      return
    }
  }

  @Test("a head longer than its bound, or with more fields, is a violation")
  func bounds() {
    var parser = HeadParser()
    let status = Array("HTTP/1.1 200 OK\r\n".utf8)
    #expect(parser.accept(line: status.span) == .incomplete)
    let field = Array("A: b\r\n".utf8)
    for _ in 0..<HeadParser.maximumFields { #expect(parser.accept(line: field.span) == .incomplete) }
    #expect(parser.accept(line: field.span) == .violation("the response has too many fields"))

    parser = HeadParser()
    #expect(parser.accept(line: status.span) == .incomplete)
    let long = Array(("A: " + String(repeating: "b", count: HeadParser.maximumLength)).utf8)
    #expect(parser.accept(line: long.span) == .violation("the response's head is too long"))
  }
}

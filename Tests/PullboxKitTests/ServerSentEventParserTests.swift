import CoreTypes
import PullboxKit
import Testing

@Suite("Server-sent events are read by the rules of the WHATWG HTML standard, §9.2")
struct ServerSentEventParserTests {
  /// The events of `text`, which arrives in two parts, `split` bytes in the first.
  private func events(
    _ text: String, splitAt split: Int? = nil, parser: ServerSentEventParser = ServerSentEventParser()
  ) throws -> [ServerSentEvent] {
    var parser = parser
    let bytes = Array(text.utf8)
    let (first, second) = (Array(bytes[..<(split ?? 0)]), Array(bytes[(split ?? 0)...]))
    return try parser.read(first.span) + parser.read(second.span)
  }

  private func event(_ name: String, _ data: String, id: String = "") -> ServerSentEvent {
    ServerSentEvent(name: name, data: Array(data.utf8), lastIdentifier: id)
  }

  // The three streams that the standard itself walks through.
  @Test("the standard's first example is three messages")
  func standardMessages() throws {
    let text = "data: YHOO\ndata: +2\ndata: 10\n\n"
    #expect(try events(text) == [event("message", "YHOO\n+2\n10")])
  }

  @Test("the standard's second example: a comment, an identifier, its reset, a space that is kept")
  func standardIdentifiers() throws {
    let text = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
    #expect(
      try events(text) == [
        event("message", "first event", id: "1"), event("message", "second event"),
        event("message", " third event"),
      ])
  }

  @Test("the standard's third example: data without a value counts, an event without its empty line does not")
  func standardEmptyData() throws {
    #expect(try events("data\n\ndata\ndata\n\ndata:") == [event("message", ""), event("message", "\n")])
  }

  @Test("the standard's fourth example: the space after the colon is optional")
  func standardSpace() throws {
    #expect(
      try events("data:test\n\ndata: test\n\n") == [event("message", "test"), event("message", "test")])
  }

  private static let stream =
    "\u{FEFF}event: download\r\ndata: {\"é\":1}\r\ndata: x\r\n\r\n: comment\r\revent: a\rdata: 1\r\r"
    + "id: 7\nretry: 250\nother: field\ndata: end\n\n\n\ndata: never"

  @Test("a stream means the same wherever it is split, with every kind of line end")
  func splits() throws {
    let expected = [
      event("download", "{\"é\":1}\nx"), event("a", "1"), event("message", "end", id: "7"),
    ]
    #expect(try events(Self.stream) == expected)
    for split in 0...Self.stream.utf8.count {
      #expect(try events(Self.stream, splitAt: split) == expected, "split at \(split)")
    }
    var parser = ServerSentEventParser()
    var found: [ServerSentEvent] = []
    for byte in Self.stream.utf8 {
      let single = [byte]
      found += try parser.read(single.span)
    }
    #expect(found == expected)
    #expect(parser.retryDelay == .milliseconds(250))
  }

  @Test("an event is there with its empty line, before the line feed of a CRLF has come")
  func promptness() throws {
    #expect(try events("data: 1\r\n\r") == [event("message", "1")])
    #expect(try events("data: 1\r\n\r\ndata: 2\r\n\r\n", splitAt: 10).count == 2)
  }

  @Test("an identifier with a NUL, a retry that is no number and a name without data are ignored")
  func ignored() throws {
    var parser = ServerSentEventParser()
    let bytes = Array("id: a\u{0}b\nretry: 1s\nevent: lost\n\ndata: x\n\n".utf8)
    #expect(try parser.read(bytes.span) == [event("message", "x")])
    #expect(parser.retryDelay == nil)
  }

  @Test("a byte order mark is skipped at the very beginning only")
  func byteOrderMark() throws {
    #expect(try events("\u{FEFF}data: 1\n\n") == [event("message", "1")])
    #expect(try events("data: 1\n\u{FEFF}data: 2\n\n") == [event("message", "1")])
  }

  @Test("a line and an event have their bounds, and the bound itself is allowed")
  func bounds() throws {
    let parser = ServerSentEventParser(maximumLineLength: ByteCount(10), maximumDataLength: ByteCount(8))
    #expect(try events("data:12345\n\n", parser: parser).count == 1)
    #expect(throws: ServerSentEventParser.Refusal.lineTooLong(limit: ByteCount(10))) {
      try events("data:123456\n\n", parser: parser)
    }
    #expect(throws: ServerSentEventParser.Refusal.eventTooLong(limit: ByteCount(8))) {
      try events("data:1234\ndata:5678\n\n", parser: parser)
    }
  }
}

import Testing

@testable import HTTPParsing

struct ChunkedBodyParserTests {
  enum Outcome: Hashable {
    case complete(body: String, rest: String)
    case incomplete(String)
    case invalid
  }

  private func read(_ text: String, pieces: Int? = nil, lineLimit: Int = 4096) -> Outcome {
    let bytes = Array(text.utf8)
    var parser = ChunkedBodyParser(lineLimit: lineLimit)
    var body: [UInt8] = []
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + (pieces ?? bytes.count))
      let piece = Array(bytes[start..<end])
      var position = 0
      reading: while true {
        switch parser.next(piece.span, from: &position) {
        case .needsMore: break reading
        case .bytes(let range): body += piece[range]
        case .end:
          return .complete(
            body: String(decoding: body, as: UTF8.self),
            rest: String(decoding: bytes[(start + position)...], as: UTF8.self))
        case .invalid: return .invalid
        }
      }
      start = end
    }
    return .incomplete(String(decoding: body, as: UTF8.self))
  }

  static let wellFormedVectors: [(String, String, String)] = [
    ("0\r\n\r\n", "", ""),
    ("5\r\nhello\r\n0\r\n\r\nGET", "hello", "GET"),
    ("3\r\nabc\r\n00A\r\n0123456789\r\n000\r\n\r\n", "abc0123456789", ""),
    ("5;a\r\nhello\r\n0;b=c;d=\"e\\\"f\"\r\n\r\n", "hello", ""),
    ("5; a \t;b = c ;\td\t=\t\"e \" ; f\r\nhello\r\n0; g\r\n\r\n", "hello", ""),
    ("1;x=y\r\nz\r\n0\r\nTrailer: v\r\nEmpty:\r\n\r\nrest", "z", "rest"),
  ]

  @Test("well-formed bodies are read however they are cut", arguments: wellFormedVectors)
  func wellFormed(text: String, body: String, rest: String) {
    for pieces in 1...max(1, text.utf8.count) {
      #expect(read(text, pieces: pieces) == .complete(body: body, rest: rest), "pieces of \(pieces)")
    }
  }

  @Test(
    "malformed bodies are refused however they are cut",
    arguments: [
      "\r\n", "g\r\n", "-5\r\nhello\r\n", "+5\r\nhello\r\n", "0x5\r\nhello\r\n", " 5\r\nhello\r\n",
      "5 \r\nhello\r\n", "5\t\r\nhello\r\n", "5_0\r\nhello\r\n", "5\nhello\r\n", "5\rhello\r\n",
      "5;\r\nhello\r\n", "5;=b\r\nhello\r\n", "5;a=\r\nhello\r\n", "5 ;a\r\nhello\r\n",
      "5; \r\nhello\r\n", "5;a \r\nhello\r\n", "5;a=b\t\r\nhello\r\n", "5;a=\"b\" \r\nhello\r\n",
      "5;a= \r\nhello\r\n", "5;a b\r\nhello\r\n", "5;a=b c\r\nhello\r\n", "5; =b\r\nhello\r\n",
      "5; \nhello\r\n", "5;a \nhello\r\n", "5;a\r \nhello\r\n",
      "5;a\u{1}\r\nhello\r\n",
      "5;a\nhello\r\n", "5;a=\"b\n\"\r\nhello\r\n", "5;a[\r\nhello\r\n",
      "5\r\nhello0\r\n\r\n", "5\r\nhellox\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r0\r\n\r\n",
      "8000000000000000\r\n", "fffffffffffffffff\r\n", "100000000000000005\r\nhello\r\n",
      "0\r\n\n", "0\r\nTrailer: v\n\r\n", "0\r\nTrailer : v\r\n\r\n", "0\r\n folded\r\n\r\n",
      "0\r\n: v\r\n\r\n",
      "0\r\nTrailer: \u{0}\r\n\r\n", "0\n\r\n", "0\r\n\rx",
    ])
  func malformed(_ text: String) {
    for pieces in 1...text.utf8.count {
      #expect(read(text, pieces: pieces) == .invalid, "pieces of \(pieces)")
    }
  }

  @Test("extensions and trailers have bounds")
  func bounds() {
    #expect(read("5;" + String(repeating: "a", count: 65_536) + "\r\nhello\r\n0\r\n\r\n") == .invalid)
    #expect(read("0\r\n" + String(repeating: "a: b\r\n", count: 1000) + "\r\n") == .invalid)
    #expect(read("5;aaaa\r\nhello\r\n0\r\n\r\n", lineLimit: 8) == .complete(body: "hello", rest: ""))
    #expect(read("5;aaaaa\r\nhello\r\n0\r\n\r\n", lineLimit: 8) == .invalid)
    #expect(read(String(repeating: "0", count: 33) + "\r\n\r\n") == .invalid)
  }

  @Test(
    "an end that has not come is waited for",
    arguments: ["5", "5\r\nhel", "5\r\nhello\r\n", "0\r\n", "0\r\nA: b\r\n"])
  func incomplete(_ text: String) {
    guard case .incomplete = read(text) else {
      Issue.record("not incomplete: \(text)")
      return
    }
  }
}

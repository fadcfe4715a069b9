/// Whole connections: RFC 9112's framing, and the sequences under which servers have lost track of it. What a
/// vector's first words name is how the case is known among those who test for request smuggling.
enum FramingVectors {
  static let all = lengths + codings + chunks + trailers + sequences + versions + expectations

  private static func post(_ fields: String, body: String = "", target: String = "/p") -> String {
    "POST \(target) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n\(body)"
  }

  private static func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked", body: body) }

  private static func read(_ name: String, _ text: String, answers: String...) -> ConnectionVector {
    ConnectionVector(name, text: text, answers: answers)
  }

  private static func refused(_ name: String, _ text: String, answers: String...) -> ConnectionVector {
    ConnectionVector(name, text: text, answers: answers.isEmpty ? ["400"] : answers, closes: true)
  }

  static let lengths = [
    read("a length of zero", post("Content-Length: 0"), answers: "200 POST /p []"),
    read(
      "a length and as many bytes", post("Content-Length: 5", body: "hello"), answers: "200 POST /p [hello]"),
    read(
      "white space around a length", post("Content-Length: \t 5 \t", body: "hello"),
      answers: "200 POST /p [hello]"),
    read(
      "the name in another case", post("CONTENT-length: 5", body: "hello"), answers: "200 POST /p [hello]"),
    read("no length is no content", "POST /p HTTP/1.1\r\nHost: h\r\n\r\n", answers: "200 POST /p []"),
    read(
      "SPILL: what follows the length is the next request",
      post("Content-Length: 5", body: "helloGET /next HTTP/1.1\r\nHost: h\r\n\r\n"),
      answers: "200 POST /p [hello]",
      "200 GET /next []"),
    refused(
      "SPILL: what follows the length and is no request", post("Content-Length: 3", body: "hello\r\n\r\n"),
      answers: "200 POST /p [hel]", "400"),
    refused("a length beyond what may be sent", post("Content-Length: 9223372036854775807"), answers: "413"),
    refused(
      "COMMA-SAME after a good request",
      "GET /a HTTP/1.1\r\nHost: h\r\n\r\n" + post("Content-Length: 5, 5", body: "hello"),
      answers: "200 GET /a []", "400"),
  ]

  static let codings = [
    read("chunked", chunked("5\r\nhello\r\n0\r\n\r\n"), answers: "200 POST /p [hello]"),
    read(
      "CASE-MISMATCH", post("Transfer-Encoding: cHuNkEd", body: "5\r\nhello\r\n0\r\n\r\n"),
      answers: "200 POST /p [hello]"),
    read(
      "TAB before the coding", post("Transfer-Encoding:\tchunked", body: "0\r\n\r\n"),
      answers: "200 POST /p []"),
    read(
      "TRAILING-SPACE after the coding", post("Transfer-Encoding: chunked ", body: "0\r\n\r\n"),
      answers: "200 POST /p []"),
    read(
      "an unknown field that resembles the coding",
      post("X-Transfer-Encoding: chunked\r\nContent-Length: 3", body: "abc"), answers: "200 POST /p [abc]"),
    refused("CLTE", post("Content-Length: 6\r\nTransfer-Encoding: chunked", body: "0\r\n\r\nG")),
    refused(
      "TECL",
      post("Transfer-Encoding: chunked\r\nContent-Length: 4", body: "5c\r\nGPOST / HTTP/1.1\r\n\r\n0\r\n\r\n")
    ),
    refused(
      "CLTE-SMUGGLED-GET",
      post(
        "Content-Length: 40\r\nTransfer-Encoding: chunked",
        body: "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")),
    refused(
      "TECL-SMUGGLED-HEAD",
      post(
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
        body: "0\r\n\r\nHEAD /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")),
    refused(
      "CLTE-PIPELINE",
      "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
        + post("Content-Length: 5\r\nTransfer-Encoding: chunked", body: "0\r\n\r\n"),
      answers: "200 GET /a []", "400"),
    refused(
      "HTTP10 with a coding",
      "POST /p HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n"),
    refused(
      "an unknown coding before chunked", post("Transfer-Encoding: br, chunked", body: "0\r\n\r\n"),
      answers: "501"),
  ]

  static let chunks = [
    read("two chunks", chunked("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), answers: "200 POST /p [abcde]"),
    read(
      "sizes with zeros before and in either case",
      chunked("000a\r\n0123456789\r\n0A\r\n0123456789\r\n00\r\n\r\n"),
      answers: "200 POST /p [01234567890123456789]"),
    read(
      "extensions mean nothing", chunked("5;a=b;c=\"d e\\\"\";f\r\nhello\r\n0;g\r\n\r\n"),
      answers: "200 POST /p [hello]"),
    read(
      "SPILL: what follows the last chunk is the next request",
      chunked("5\r\nhello\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n"), answers: "200 POST /p [hello]",
      "200 GET /next []"),
    read(
      "white space around the parts of extensions",
      chunked("5; a = b ;\tc\t=\t\"d e\" ; f\r\nhello\r\n0; g\r\n\r\n"), answers: "200 POST /p [hello]"),
    refused("EXT-SP between the size and the first semicolon", chunked("5 ;a\r\nhello\r\n0\r\n\r\n")),
    refused("EXT-SP before the line end", chunked("5;a \r\nhello\r\n0\r\n\r\n")),
    refused("EXT-SP and nothing", chunked("5; \r\nhello\r\n0\r\n\r\n")),
    refused("EXT-SP before a bare LF", chunked("5;a \nhello\r\n0\r\n\r\n")),
    refused("BARE-SEMICOLON", chunked("5;\r\nhello\r\n0\r\n\r\n")),
    refused("EXT-INVALID-TOKEN", chunked("5;a[b\r\nhello\r\n0\r\n\r\n")),
    refused("EXT-LF", chunked("5;a\nhello\r\n0\r\n\r\n")),
    refused("EXT-CR", chunked("5;a\rb\r\nhello\r\n0\r\n\r\n")),
    refused("EXT-CTRL", chunked("5;a=\u{1}\r\nhello\r\n0\r\n\r\n")),
    refused("EXT-64K", chunked("5;" + String(repeating: "a", count: 65_536) + "\r\nhello\r\n0\r\n\r\n")),
    refused("UNDERSCORE", chunked("1_0\r\nhello\r\n0\r\n\r\n")),
    refused("HEX-PREFIX", chunked("0x5\r\nhello\r\n0\r\n\r\n")),
    refused("PLUS", chunked("+5\r\nhello\r\n0\r\n\r\n")),
    refused("NEGATIVE", chunked("-5\r\nhello\r\n0\r\n\r\n")),
    refused("LEADING-SP", chunked(" 5\r\nhello\r\n0\r\n\r\n")),
    refused("TRAILING-OWS", chunked("5 \r\nhello\r\n0\r\n\r\n")),
    refused("TRAILING-OWS, a tab", chunked("5\t\r\nhello\r\n0\r\n\r\n")),
    refused("EMPTY size", chunked("\r\nhello\r\n0\r\n\r\n")),
    refused("MISSING-CRLF after the bytes", chunked("5\r\nhello0\r\n\r\n")),
    refused("SPILL: more bytes than the size says", chunked("5\r\nhello!\r\n0\r\n\r\n")),
    refused("LF-TERM after the size", chunked("5\nhello\r\n0\r\n\r\n")),
    refused("LF-TERM after the bytes", chunked("5\r\nhello\n0\r\n\r\n")),
    refused("LF-TERM after the last size", chunked("5\r\nhello\r\n0\n\r\n")),
    refused("BARE-CR-TERM after the size", chunked("5\rhello\r\n0\r\n\r\n")),
    refused("BARE-CR-TERM after the bytes", chunked("5\r\nhello\r0\r\n\r\n")),
    refused("LF-TRAILER", chunked("5\r\nhello\r\n0\r\nA: b\n\r\n")),
    refused("LF at the very end", chunked("5\r\nhello\r\n0\r\n\n")),
    refused("SIZE-OVERFLOW", chunked("ffffffffffffffff5\r\nhello\r\n0\r\n\r\n")),
    refused("SIZE-OVERFLOW to a small size", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n")),
    refused("SIZE-OVERFLOW of a signed number", chunked("8000000000000005\r\nhello\r\n0\r\n\r\n")),
  ]

  static let trailers = [
    read(
      "Trailers: CL", chunked("3\r\nabc\r\n0\r\nContent-Length: 50\r\n\r\n"), answers: "200 POST /p [abc]"),
    read(
      "Trailers: TE", chunked("3\r\nabc\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n"),
      answers: "200 POST /p [abc]"),
    read("Trailers: HOST", chunked("3\r\nabc\r\n0\r\nHost: other\r\n\r\n"), answers: "200 POST /p [abc]"),
    read(
      "Trailers: AUTH and CONTENT-TYPE",
      chunked("3\r\nabc\r\n0\r\nAuthorization: x\r\nContent-Type: y\r\n\r\n"), answers: "200 POST /p [abc]"),
    read("Trailers: connection", chunked("0\r\nConnection: close\r\n\r\n"), answers: "200 POST /p []"),
    refused("a folded trailer", chunked("0\r\nA: b\r\n c\r\n\r\n")),
    refused("a trailer with white space before its colon", chunked("0\r\nA : b\r\n\r\n")),
  ]

  static let sequences = [
    read(
      "PIPELINE-SAFE: three at once",
      "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: h\r\n\r\n"
        + post("Content-Length: 1", body: "x", target: "/3"), answers: "200 GET /1 []", "200 HEAD",
      "200 POST /3 [x]"),
    read(
      "GET-CL-BODY", "GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
      answers: "200 GET /a [hello]"),
    read(
      "GET-CL-BODY-DESYNC: content that looks like a request",
      "GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\nGET /smuggled HTTP/1.1\r\nX: y\r\n",
      answers: "200 GET /a [GET /smuggled HTTP/1.1\r\nX: y\r\n]"),
    read(
      "HEAD-CL-BODY", "HEAD /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", answers: "200 HEAD"),
    read(
      "OPTIONS-CL-BODY", "OPTIONS * HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
      answers: "200 OPTIONS * [hello]"),
    read(
      "CL0-BODY-POISON: unread content is no request",
      post("Content-Length: 30", body: "GET /smuggled HTTP/1.1\r\nX: y\r\n", target: "/ignore"),
      answers: "200 ignored"),
    refused(
      "CONN-CLOSE",
      "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n",
      answers: "200 GET /a []"),
    refused(
      "CONN-CLOSE in a list, and in another case",
      "GET /a HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, CLOSE\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n",
      answers: "200 GET /a []"),
    refused(
      "nothing after a refused head",
      "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n"),
    read(
      "one empty line before a request", "\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n", answers: "200 GET /a []"),
    refused("two empty lines before a request", "\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n"),
    read("ABSOLUTE-URI", "GET http://H:80/a?b HTTP/1.1\r\nHost: h:80\r\n\r\n", answers: "200 GET /a?b []"),
    read(
      "an absolute URI without a path", "GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", answers: "200 GET / []"),
    refused("ABSOLUTE-URI-HOST-MISMATCH", "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n"),
    refused("an absolute URI without a host field", "GET http://a/ HTTP/1.1\r\n\r\n"),
    refused("UTF-8 overlong", "GET /a%c0%afb HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
    refused("an escaped slash", "GET /a%2fb HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
    read(
      "TRACE is a method like any other here", "TRACE /a HTTP/1.1\r\nHost: h\r\n\r\n",
      answers: "200 TRACE /a []"),
    read("methods are told apart by case", "get /a HTTP/1.1\r\nHost: h\r\n\r\n", answers: "200 get /a []"),
    read(
      "an upgrade that is not offered",
      "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
      answers: "200 GET /a []"),
  ]

  static let versions = [
    refused("HTTP/1.0 closes", "GET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.0\r\n\r\n", answers: "200 GET /a []"),
    read(
      "HTTP/1.0 that asks to be kept", "GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
      answers: "200 GET /a []"),
    refused(
      "HTTP/1.0 that asks for both",
      "GET /a HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", answers: "200 GET /a []"),
    read(
      "HTTP/1.0 with content", "POST /a HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
      answers: "200 POST /a [hi]"),
    read("a later minor version", "GET /a HTTP/1.9\r\nHost: h\r\n\r\n", answers: "200 GET /a []"),
  ]

  static let expectations = [
    read(
      "EXPECT-100-CL: content that comes with the head needs no permission",
      post("Content-Length: 5\r\nExpect: 100-continue", body: "hello"), answers: "200 POST /p [hello]"),
    read(
      "EXPECT-100 without content", "GET /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n",
      answers: "200 GET /a []"),
    read(
      "EXPECT-100 of HTTP/1.0",
      "POST /a HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
      answers: "200 POST /a [hi]"),
    refused(
      "an unknown expectation", post("Content-Length: 2\r\nExpect: 200-ok", body: "hi"), answers: "417"),
    refused(
      "two expectations in one line", post("Content-Length: 2\r\nExpect: 100-continue, x", body: "hi"),
      answers: "417"),
  ]
}

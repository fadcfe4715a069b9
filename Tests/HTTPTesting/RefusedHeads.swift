package import HTTPParsing

/// Heads that must be refused, each with the status; the names are those under which request smuggling and
/// parser differences are known.
package enum RefusedHeads {
  package struct Vector: Sendable, CustomStringConvertible {
    package let name: String
    package let bytes: [UInt8]
    package let status: HeadRefusal
    package var description: String { name }

    package init(_ name: String, _ text: String, status: HeadRefusal = .badRequest) {
      self.name = name
      bytes = Array(text.utf8)
      self.status = status
    }
  }

  package static let all = contentLengths + transferEncodings + fields + requestLines + hosts

  private static func post(_ fields: String) -> String { "POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n" }

  static let contentLengths = [
    Vector("two lengths that differ", post("Content-Length: 5\r\nContent-Length: 6")),
    Vector("the same length twice", post("Content-Length: 5\r\nContent-Length: 5")),
    Vector("leading zero", post("Content-Length: 05")),
    Vector("octal", post("Content-Length: 0o5")),
    Vector("hexadecimal", post("Content-Length: 0x5")),
    Vector("negative", post("Content-Length: -5")),
    Vector("negative zero", post("Content-Length: -0")),
    Vector("plus", post("Content-Length: +5")),
    Vector("space inside", post("Content-Length: 5 5")),
    Vector("list that differs", post("Content-Length: 5, 6")),
    Vector("list of the same", post("Content-Length: 5, 5")),
    Vector("list of three", post("Content-Length: 5,5,5")),
    Vector("overflow", post("Content-Length: 9223372036854775808")),
    Vector("overflow by far", post("Content-Length: 99999999999999999999999999")),
    Vector("empty length", post("Content-Length:")),
    Vector("fraction", post("Content-Length: 5.0")),
    Vector("underscore in the length's name", post("Content_Length: 5")),
    Vector("space before the length's colon", post("Content-Length : 5")),
  ]

  static let transferEncodings = [
    Vector("coding and length", post("Transfer-Encoding: chunked\r\nContent-Length: 5")),
    Vector("length and coding", post("Content-Length: 5\r\nTransfer-Encoding: chunked")),
    Vector("length zero and coding", post("Content-Length: 0\r\nTransfer-Encoding: chunked")),
    Vector("unknown coding", post("Transfer-Encoding: xchunked")),
    Vector("space before the coding's colon", post("Transfer-Encoding : chunked")),
    Vector("chunked twice", post("Transfer-Encoding: chunked, chunked")),
    Vector("chunked not last", post("Transfer-Encoding: chunked, gzip")),
    Vector("other coding first", post("Transfer-Encoding: gzip, chunked"), status: .notImplemented),
    Vector("coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    Vector("empty coding", post("Transfer-Encoding:")),
    Vector("leading comma", post("Transfer-Encoding: , chunked")),
    Vector("trailing comma", post("Transfer-Encoding: chunked,")),
    Vector("coding in two lines", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")),
    Vector(
      "coding in two lines that differ", post("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked")),
    Vector("vertical tab", post("Transfer-Encoding: \u{B}chunked")),
    Vector("form feed", post("Transfer-Encoding: chunked\u{C}")),
    Vector("NUL", post("Transfer-Encoding: chunked\0")),
    Vector("folded coding", post("Transfer-Encoding:\r\n chunked")),
    Vector("identity", post("Transfer-Encoding: identity")),
    Vector("parameters", post("Transfer-Encoding: chunked;q=1")),
    Vector("quoted", post("Transfer-Encoding: \"chunked\"")),
    Vector("underscore in the coding's name", post("Transfer_Encoding: chunked")),
  ]

  static let fields = [
    Vector("bare line feed after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n"),
    Vector("bare line feed after a field", "GET / HTTP/1.1\r\nHost: h\n\r\n"),
    Vector("bare line feed at the end", "GET / HTTP/1.1\r\nHost: h\r\n\n"),
    Vector("bare return in a value", "GET / HTTP/1.1\r\nHost: h\r\na: b\rc\r\n\r\n"),
    Vector("returns only", "GET / HTTP/1.1\rHost: h\r\r"),
    Vector("white space before the first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n"),
    Vector("folded field", "GET / HTTP/1.1\r\nHost: h\r\na: b\r\n c\r\n\r\n"),
    Vector("no colon", "GET / HTTP/1.1\r\nHost: h\r\nabc\r\n\r\n"),
    Vector("empty name", "GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n"),
    Vector("space in a name", "GET / HTTP/1.1\r\nHost: h\r\na b: c\r\n\r\n"),
    Vector("NUL in a value", "GET / HTTP/1.1\r\nHost: h\r\na: \0\r\n\r\n"),
    Vector("delete in a value", "GET / HTTP/1.1\r\nHost: h\r\na: \u{7F}\r\n\r\n"),
    Vector("letters beyond ASCII in a name", "GET / HTTP/1.1\r\nHost: h\r\n\u{E4}: b\r\n\r\n"),
    Vector(
      "65 fields",
      "GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "a: b\r\n", count: 64) + "\r\n",
      status: .fieldsTooLarge),
    Vector(
      "a value beyond the head's bound",
      "GET / HTTP/1.1\r\nHost: h\r\na: " + String(repeating: "b", count: 16_384), status: .fieldsTooLarge),
    Vector(
      "a name beyond the head's bound",
      "GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "b", count: 16_384), status: .fieldsTooLarge),
  ]

  static let requestLines = [
    Vector("two spaces before the target", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("two spaces before the version", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("space after the version", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n"),
    Vector("space first", " GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("tab", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("HTTP/0.9", "GET /\r\n"),
    Vector("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Vector("version 2", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", status: .versionNotSupported),
    Vector("version 0", "GET / HTTP/0.9\r\nHost: h\r\n\r\n", status: .versionNotSupported),
    Vector("version without minor", "GET / HTTP/1\r\nHost: h\r\n\r\n"),
    Vector("version of two digits", "GET / HTTP/1.10\r\nHost: h\r\n\r\n"),
    Vector("version with a leading zero", "GET / HTTP/01.1\r\nHost: h\r\n\r\n"),
    Vector("version in lower case", "GET / http/1.1\r\nHost: h\r\n\r\n"),
    Vector("another protocol", "GET / HTTPS/1.1\r\nHost: h\r\n\r\n"),
    Vector("a TLS hello", "\u{16}\u{3}\u{1}\u{2}"),
    Vector("method beyond ASCII", "G\u{CB}T / HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector(
      "method of 40 letters", String(repeating: "A", count: 40) + " / HTTP/1.1\r\nHost: h\r\n\r\n",
      status: .notImplemented),
    Vector("CONNECT", "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", status: .notImplemented),
    Vector("asterisk with GET", "GET * HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("backslash", "GET /a\\b HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("NUL in the target", "GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("control character in the target", "GET /\u{1} HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("letters beyond ASCII in the target", "GET /\u{E4} HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("escaped NUL", "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("escaped line end", "GET /a%0d%0ab HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("escape without digits", "GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("escape cut off", "GET /a%4 HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("target without a slash", "GET a HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("another scheme", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("user information", "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    Vector("target beyond the bound", "GET /" + String(repeating: "a", count: 8192), status: .targetTooLong),
  ]

  static let hosts = [
    Vector("no host", "GET / HTTP/1.1\r\n\r\n"),
    Vector("two hosts", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n"),
    Vector("two hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: h\r\nHost: h\r\n\r\n"),
    Vector("empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    Vector("host with user information", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n"),
    Vector("host with a path", "GET / HTTP/1.1\r\nHost: h/p\r\n\r\n"),
    Vector("host list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    Vector("host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    Vector("port that is none", "GET / HTTP/1.1\r\nHost: h:80a\r\n\r\n"),
    Vector("port beyond 65,535", "GET / HTTP/1.1\r\nHost: h:65536\r\n\r\n"),
    Vector("port only", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n"),
    Vector("open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
    Vector("host that the target contradicts", "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n"),
  ]
}

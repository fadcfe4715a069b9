import HTTPTesting
import PullboxTesting
import Testing

@testable import HTTPParsing

/// Bounded runs of the fuzz targets; `scripts/fuzz` runs them without bounds.
struct FuzzTests {
  static func mutator(for target: FuzzTarget) -> Mutator {
    let heads = RefusedHeads.all.map { String(decoding: $0.bytes.prefix(400), as: UTF8.self) }
    switch target {
    case .head:
      return Mutator(
        seed: 1,
        seeds: heads + [
          "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "\r\nPOST /a?b HTTP/1.0\r\nContent-Length: 12\r\n\r\n",
          "OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
          "GET http://h/p%20q HTTP/1.1\r\nHost: h\r\nX: \t \r\nExpect: 100-continue\r\n\r\n",
        ],
        words: [
          "\r\n", "\r", "\n", " ", "\t", ":", ",", "Host: h\r\n", "Content-Length: 5\r\n",
          "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "%00", "%2f", "http://", "HTTP/1.1",
          "chunked",
        ])
    case .chunks:
      return Mutator(
        seed: 2,
        seeds: [
          "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "3\r\nabc\r\n00A\r\n0123456789\r\n000\r\n\r\nGET",
          "5;a=b;c=\"d\\\"\"\r\nhello\r\n0\r\nTrailer: v\r\n\r\n",
          "5; a = b ;\tc=\"d\" ; e\r\nhello\r\n0; f\r\n\r\n",
        ],
        words: [
          "\r\n", "\r", "\n", ";", "=", " ", "\t", "\"", "\\", "0\r\n\r\n", "ffffffffffffffff", "1\r\nx\r\n",
          "a: b\r\n",
        ])
    case .ranges:
      return Mutator(
        seed: 3,
        seeds: [
          "\u{4}bytes=0-5", "\u{4}bytes=-5,0-3", "\u{5}bytes= 0-999, 4500-5499, -1000", "\u{9}bytes=1-",
          "\u{6}bytes=2147483646-2147483647", "\u{8}bytes=4294967296-,0-0", "\u{4}bytes=0-9,90-99,300-310",
        ],
        words: [
          "-", ",", " ", "\t", "0", "9", "bytes=", "0-5", "-5", "5-", "99999999999999999999", "2147483648",
        ])
    case .conditions:
      return Mutator(
        seed: 4,
        seeds: [
          "\"v1\"", "W/\"v1\", \"a\"", "*", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
          "Sun Nov  6 08:49:37 1994", "\"a\" , \"v1\"",
        ], words: ["\"", "W/", ",", " ", "*", "\"v1\"", "60", "31", "Feb", "Mon", "GMT", "-", ":"])
    }
  }

  @Test("no mutation of an input breaks a rule", arguments: FuzzTarget.allCases)
  func mutations(_ target: FuzzTarget) {
    var mutator = Self.mutator(for: target)
    if let failure = mutator.firstFailure(in: 20_000, of: target.check) {
      Issue.record("\(target): \(failure)")
    }
  }
}

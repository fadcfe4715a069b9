import CoreTypes
import HTTPClient
import Testing

/// Vectors from RFC 9110 section 14.4.
struct ContentRangeTests {
  @Test("the forms of the RFC are read")
  func forms() {
    #expect(ContentRange("bytes 42-1233/1234") == ContentRange(range: 42..<1234, completeLength: 1234))
    #expect(ContentRange("bytes 42-1233/*") == ContentRange(range: 42..<1234, completeLength: nil))
    #expect(ContentRange("bytes */1234") == ContentRange(range: nil, completeLength: 1234))
    #expect(ContentRange("Bytes 0-0/1") == ContentRange(range: 0..<1, completeLength: 1))
    #expect(
      ContentRange("bytes 2147483648-4294967295/4294967296")
        == ContentRange(range: 2_147_483_648..<4_294_967_296, completeLength: 4_294_967_296))
  }

  @Test(
    "what the RFC calls invalid is nil",
    arguments: [
      "", "bytes", "bytes ", "bytes 0-9", "bytes 9-0/10", "bytes 0-10/10", "bytes */*", "items 0-9/10",
      "bytes -9/10", "bytes 0-/10", "bytes 0-9/10/11", "bytes +0-9/10", "bytes 0 - 9/10",
      "bytes 0-9223372036854775807/*", "bytes 0-99999999999999999999/*",
    ])
  func invalid(text: String) {
    #expect(ContentRange(text) == nil)
  }

  @Test("a Content-Length that contradicts itself is none")
  func contentLength() {
    func head(_ values: String...) -> ResponseHead {
      ResponseHead(
        status: 200,
        headers: ResponseFields(values.map { .init(name: "Content-Length", value: $0) }))
    }
    #expect(head("17").contentLength == ByteCount(17))
    #expect(head("17", "17").contentLength == ByteCount(17))
    #expect(head("17", "18").contentLength == nil)
    #expect(head("-1").contentLength == nil)
    #expect(head().contentLength == nil)
  }

  @Test("a Retry-After in its form of a date counts from the response's Date (R1)")
  func retryAfterDate() {
    func head(_ value: String) -> ResponseHead {
      ResponseHead(
        status: 503,
        headers: ResponseFields([
          .init(name: "Date", value: "Sun, 06 Nov 1994 08:49:37 GMT"),
          .init(name: "Retry-After", value: value),
        ]))
    }
    #expect(head("Sun, 06 Nov 1994 09:49:37 GMT").retryAfter == .seconds(3600))
    #expect(head("Sun, 06 Nov 1994 08:49:37 GMT").retryAfter == .seconds(1))
    #expect(head("Fri, 31 Dec 1999 23:59:59 GMT").retryAfter == .seconds(86_400))
    #expect(head("tomorrow").retryAfter == nil)
    #expect(head("Sun, 06 Foo 1994 09:49:37 GMT").retryAfter == nil)
  }

  @Test("Last-Modified is read as an IMF-fixdate, and as nothing else (RFC 9110 section 8.8.2)")
  func lastModified() {
    func head(_ value: String) -> ResponseHead {
      ResponseHead(status: 200, headers: ResponseFields([.init(name: "last-modified", value: value)]))
    }
    let moment = Timestamp(rfc3339: "1994-11-15T12:45:26Z")
    #expect(head("Tue, 15 Nov 1994 12:45:26 GMT").lastModified == moment)
    #expect(head("1994-11-15T12:45:26Z").lastModified == nil)
    #expect(head("").lastModified == nil)
    #expect(ResponseHead(status: 200).lastModified == nil)
  }

  @Test("Retry-After counts in its form of seconds (R1)")
  func retryAfter() {
    func head(_ value: String) -> ResponseHead {
      ResponseHead(status: 503, headers: ResponseFields([.init(name: "Retry-After", value: value)]))
    }
    #expect(head("120").retryAfter == .seconds(120))
    #expect(head("Fri, 31 Dec 1999 23:59:59 GMT").retryAfter == .seconds(1))
    #expect(head("-1").retryAfter == nil)
    #expect(head("").retryAfter == nil)
  }

  @Test(
    "Retry-After is brought into 1 s to a day, however absurd it is",
    arguments: [
      ("0", 1), ("1", 1), ("901", 901), ("86400", 86_400), ("86401", 86_400), ("1795250000000", 86_400),
      ("9223372036854775807", 86_400), ("9223372036854775808", 86_400),
      ("99999999999999999999999999", 86_400),
    ])
  func absurdRetryAfter(value: String, seconds: Int) {
    let head = ResponseHead(
      status: 503, headers: ResponseFields([.init(name: "Retry-After", value: value)]))
    #expect(head.retryAfter == .seconds(seconds))
  }
}

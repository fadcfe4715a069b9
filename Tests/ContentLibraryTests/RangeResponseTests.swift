import CoreTypes
import Crypto
import HTTPClient
import Testing

@testable import ContentLibrary

@Suite struct RangeResponseTests {
  private static let digest = SHA256Digest.of([1, 2, 3])
  private static let tag = "\"\(digest.hexadecimal)\""

  private func classify(_ status: Int, _ fields: [(String, String)]) -> RangeResponse {
    RangeResponse.classify(
      ResponseHead(
        status: status, headers: ResponseFields(fields.map { .init(name: $0.0, value: $0.1) })),
      asked: 100..<200, length: ByteCount(1000), digest: Self.digest)
  }

  @Test("the range that was asked for") func exact() {
    let answer = classify(
      206, [("Content-Range", "bytes 100-199/1000"), ("Content-Length", "100"), ("ETag", Self.tag)])
    #expect(answer == .body(start: 100, end: 200))
  }

  @Test("a 206 may start earlier, and may end earlier: its own word on where it belongs counts")
  func shifted() {
    #expect(classify(206, [("Content-Range", "bytes 64-199/1000")]) == .body(start: 64, end: 200))
    #expect(classify(206, [("Content-Range", "bytes 100-149/1000")]) == .body(start: 100, end: 150))
    #expect(classify(206, [("Content-Range", "bytes 100-199/*")]) == .body(start: 100, end: 200))
  }

  @Test(
    "a 206 that does not hold the first byte asked for, or is of another length, is not ours",
    arguments: [
      "bytes 101-199/1000", "bytes 0-99/1000", "bytes 100-199/999", "bytes */1000", "bytes 100-199",
      "pages 100-199/1000", "bytes 100-1000/1000",
    ])
  func foreignRanges(_ contentRange: String) {
    #expect(classify(206, [("Content-Range", contentRange)]) == .mismatched)
  }

  @Test("a 206 without Content-Range (several parts, say) is not ours") func multipart() {
    #expect(classify(206, [("Content-Type", "multipart/byteranges; boundary=x")]) == .mismatched)
    let two = [("Content-Range", "bytes 100-199/1000"), ("Content-Range", "bytes 100-150/1000")]
    #expect(classify(206, two) == .mismatched)
  }

  @Test("a 200 starts at the first byte, whatever was asked for") func whole() {
    #expect(classify(200, [("Content-Length", "1000"), ("ETag", Self.tag)]) == .body(start: 0, end: nil))
    #expect(classify(200, []) == .body(start: 0, end: nil))
    #expect(classify(200, [("Content-Length", "999"), ("ETag", Self.tag)]) == .mismatched)
  }

  @Test("a page, or a 200 of another length without our validator, is not the server's answer (D5)")
  func foreign() {
    #expect(classify(200, [("Content-Type", "text/html; charset=utf-8")]) == .foreign)
    #expect(classify(200, [("Content-Type", "text/html"), ("Content-Length", "1000")]) == .foreign)
    #expect(classify(200, [("Content-Length", "999")]) == .foreign)
    #expect(
      classify(206, [("Content-Type", "TEXT/HTML"), ("Content-Range", "bytes 100-199/1000")]) == .foreign)
  }

  @Test(
    "another validator, or a weak one, is other content",
    arguments: ["\"other\"", "W/\"\(SHA256Digest.of([1, 2, 3]).hexadecimal)\"", ""])
  func otherTag(_ tag: String) {
    #expect(classify(200, [("ETag", tag)]) == .mismatched)
    #expect(classify(206, [("Content-Range", "bytes 100-199/1000"), ("ETag", tag)]) == .mismatched)
  }

  @Test("a content coding would move every offset") func coding() {
    #expect(classify(200, [("Content-Encoding", "gzip")]) == .mismatched)
    #expect(classify(200, [("Content-Encoding", "identity")]) == .body(start: 0, end: nil))
  }

  @Test(
    "everything else is a refusal, but a 416 says the content is another",
    arguments: [301, 304, 401, 403, 404, 503])
  func refusals(_ status: Int) {
    #expect(classify(status, []) == .refusal)
    #expect(classify(416, [("Content-Range", "bytes */50")]) == .mismatched)
  }
}

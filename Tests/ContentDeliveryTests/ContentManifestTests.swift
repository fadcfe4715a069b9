import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentDelivery

/// RFC 9110 §13 and §14: the manifest is a document of its own, with a tag of its own.
@Suite("The manifest of content")
struct ContentManifestTests {
  private let fixture: ContentFixture
  private let manifest: [UInt8]
  private let tag: String

  init() throws {
    fixture = try ContentFixture()
    manifest = fixture.source.manifest
    tag = "\"\(SHA256Digest.of(manifest))\""
  }

  private func response(_ fields: [(name: String, value: String)] = []) async throws -> ContentResponse {
    try await fixture.offLoop(
      ContentRequest(target: "\(fixture.path)/manifest?ticket=\(fixture.ticket)", fields: fields))
  }

  @Test("it is the one that the grant promised, under the digest of its bytes")
  func whole() async throws {
    let response = try await response()
    #expect(response.status == 200)
    #expect(response.body == manifest)
    #expect(
      response.ownFields == [
        "accept-ranges": "bytes", "cache-control": "private, max-age=31536000, immutable",
        "content-type": "application/json", "etag": tag,
      ])
  }

  @Test("it needs a ticket, and one of another grant than its package's opens none")
  func gated() async throws {
    let missing = try await fixture.offLoop(ContentRequest(target: "\(fixture.path)/manifest"))
    #expect(missing.status == 401)
    let other = fixture.ticket(for: fixture.digest, handle: DeliveryHandle(high: 3, low: 4))
    let refused = try await fixture.offLoop(
      ContentRequest(target: "\(fixture.path)/manifest?ticket=\(other)"))
    #expect(refused.status == 404)
  }

  @Test("conditions hold against its own tag")
  func conditions() async throws {
    for (name, value, status) in [
      ("If-None-Match", tag, 304), ("If-None-Match", "W/\(tag)", 304), ("If-None-Match", "*", 304),
      ("If-None-Match", "\"other\"", 200), ("If-None-Match", fixture.tag, 200),
      ("If-Match", "\"other\"", 412),
      ("If-Match", "W/\(tag)", 412), ("If-Match", tag, 200), ("If-Match", "*", 200),
    ] {
      let response = try await response([(name, value)])
      #expect(response.status == status, "\(name): \(value)")
      #expect(response["ETag"] == tag)
      #expect(response.body == (status == 200 ? manifest : []))
      #expect(
        response["Cache-Control"] == (status == 412 ? "no-store" : "private, max-age=31536000, immutable"))
    }
  }

  @Test(
    "one range is answered, so that one that was cut off is gone on with; several are answered with the whole"
  )
  func ranges() async throws {
    let length = manifest.count
    for (fields, status, bytes, contentRange) in [
      ([("Range", "bytes=0-9")], 206, 0..<10, "bytes 0-9/\(length)"),
      ([("Range", "bytes=10-"), ("If-Range", tag)], 206, 10..<length, "bytes 10-\(length - 1)/\(length)"),
      ([("Range", "bytes=10-"), ("If-Range", "\"other\"")], 200, 0..<length, nil),
      ([("Range", "bytes=-5")], 206, length - 5..<length, "bytes \(length - 5)-\(length - 1)/\(length)"),
      ([("Range", "bytes=0-1,400-401")], 200, 0..<length, nil),
      ([("Range", "bytes=\(length)-")], 416, 0..<0, "bytes */\(length)"),
      ([("Range", "lines=1-2")], 200, 0..<length, nil),
    ] as [([(name: String, value: String)], Int, Range<Int>, String?)] {
      let response = try await response(fields)
      #expect(response.status == status, "\(fields)")
      #expect(response.body == Array(manifest[bytes]), "\(fields)")
      #expect(response["Content-Range"] == contentRange, "\(fields)")
    }
  }
}

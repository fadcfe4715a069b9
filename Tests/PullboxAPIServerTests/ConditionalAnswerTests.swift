import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import Testing

/// Answers that clients keep, and the conditions of requests (RFC 9110 §12.5.3 and §13).
@Suite("Answers with conditions")
struct ConditionalAnswerTests {
  /// 2026-11-21T08:30:00.500Z.
  private static let changed = Timestamp(millisecondsSinceEpoch: 1_795_249_800_500)
  private static let date = "Sat, 21 Nov 2026 08:30:00 GMT"

  private let value = ["issues": (0..<200).map { "com.example.heroes.issue\($0)" }]
  private let plain: [UInt8]
  private let document: ConditionalJSON.Document

  init() throws {
    plain = try APIJSON.encode(value)
    document = try ConditionalJSON.Document(value, lastModified: Self.changed)
  }

  private func answer(_ headers: HTTPFields = [:], _ method: HTTPMethod = .get) throws -> HTTPResponse {
    let request = try HTTPRequest(method: method, rawTarget: "/products_v1.json", headers: headers)
    return try ConditionalJSON.response(to: request, document: document, cacheControl: "max-age=60")
  }

  @Test(
    "an answer is compressed where gzip is listed with a weight above zero, or all codings are",
    arguments: [
      ("gzip", true), ("x-gzip", true), ("GZIP", true), ("deflate, gzip;q=0.5", true), ("gzip ; q=1", true),
      ("*", true), ("br, *;q=0.1", true), ("gzip;q=0, *", false), ("gzip;q=0", false),
      ("gzip;q=0.000", false),
      ("*;q=0", false), ("identity", false), ("br", false), ("", false), ("gzipped", false),
      ("*;q=0, gzip", true),
    ])
  func codings(field: String, isCompressed: Bool) throws {
    let response = try answer(["Accept-Encoding": field])
    #expect((response.headers["Content-Encoding"] == "gzip") == isCompressed)
    #expect((response.bytes == plain) == !isCompressed)
    #expect(response.headers["Vary"] == "Accept-Encoding")
  }

  @Test("without the field nothing is compressed; several fields are one list")
  func codingFields() throws {
    #expect(try answer().headers["Content-Encoding"] == nil)
    #expect(
      try answer(["Accept-Encoding": "br", "accept-encoding": "gzip"]).headers["Content-Encoding"] == "gzip")
  }

  @Test(
    "what is compressed is shorter, and its end tells the length and the checksum of the plain bytes (RFC 1952)"
  )
  func compressed() throws {
    let bytes = try answer(["Accept-Encoding": "gzip"]).bytes
    #expect(bytes.prefix(3) == [0x1F, 0x8B, 8] && bytes.count < plain.count / 2)
    func number(_ end: ArraySlice<UInt8>) -> UInt32 { end.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    #expect(number(bytes.suffix(4)) == UInt32(plain.count))
    var checksum: UInt32 = .max
    for byte in plain {
      checksum ^= UInt32(byte)
      for _ in 0..<8 { checksum = checksum >> 1 ^ (checksum & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    #expect(number(bytes.dropLast(4).suffix(4)) == ~checksum)
  }

  @Test("a document has a strong tag for each of its forms, the date of its change, and its cache control")
  func validators() throws {
    let (whole, compressed) = (try answer(), try answer(["Accept-Encoding": "gzip"]))
    #expect(whole.headers["ETag"] == "\"\(SHA256Digest.of(plain))\"")
    #expect(compressed.headers["ETag"] == "\"\(SHA256Digest.of(compressed.bytes))\"")
    for response in [whole, compressed] {
      #expect(response.status == .ok && response.headers["Last-Modified"] == Self.date)
      #expect(response.headers["Cache-Control"] == "max-age=60")
      #expect(response.headers["Content-Type"] == "application/json")
    }
  }

  @Test("a client that has the document is told so by its tag, or by its date, without a body")
  func notModified() throws {
    for method in [HTTPMethod.get, .head] {
      for coding in ["identity", "gzip"] {
        let tag = try #require(try answer(["Accept-Encoding": coding]).headers["ETag"])
        let by = [("If-None-Match", tag), ("If-None-Match", "W/\(tag)"), ("If-Modified-Since", Self.date)]
        for (name, condition) in by {
          let response = try answer(["Accept-Encoding": coding, name: condition], method)
          #expect(response.status == .notModified && response.bytes.isEmpty, "\(name) \(coding)")
          #expect(response.headers["ETag"] == tag && response.headers["Content-Type"] == nil)
          #expect(response.headers["Vary"] == "Accept-Encoding")
        }
      }
    }
  }

  @Test("a tag of the other form, or of another state, and an earlier date are answered with the document")
  func modified() throws {
    let tag = try #require(try answer(["Accept-Encoding": "gzip"]).headers["ETag"])
    let earlier = "Sat, 21 Nov 2026 08:29:59 GMT"
    for (name, condition) in [
      ("If-None-Match", tag), ("If-None-Match", "\"a\""), ("If-Modified-Since", earlier),
    ] {
      #expect(try answer([name: condition]).bytes == plain, "\(name)")
    }
    // The tag decides where there are both.
    #expect(try answer(["If-None-Match": "\"a\"", "If-Modified-Since": Self.date]).status == .ok)
    let problem = #expect(throws: Problem.self) { try answer(["If-Match": "\"a\""]) }
    #expect(problem?.code == .preconditionFailed)
  }

  @Test("a value is answered with the tag of its bytes: 304 for who has it, 412 for who asks for another")
  func values() throws {
    func answer(_ headers: HTTPFields) throws -> HTTPResponse {
      let request = try HTTPRequest(method: .get, rawTarget: "/", headers: headers)
      return try .json(value, to: request, cacheControl: "private, no-cache")
    }
    let whole = try answer([:])
    let tag = try #require(whole.headers["ETag"])
    #expect(tag == EntityTag.of(plain) && whole.bytes == plain && whole.status == .ok)
    let kept = try answer(["If-None-Match": "\"x\", \(tag)"])
    #expect(kept.status == .notModified && kept.bytes.isEmpty && kept.headers["ETag"] == tag)
    #expect(kept.headers["Cache-Control"] == "private, no-cache")
    let problem = #expect(throws: Problem.self) { try answer(["If-Match": "\"x\""]) }
    #expect(problem?.code == .preconditionFailed)
  }

  // MARK: Writes

  private func isRefused(_ headers: HTTPFields, _ current: [String: [String]]?) throws -> Bool {
    let request = try HTTPRequest(method: .put, rawTarget: "/v1/operator/products/a", headers: headers)
    do {
      try WriteConditions(request).check(current)
      return false
    } catch {
      #expect((error as? Problem)?.code == .preconditionFailed)
      return true
    }
  }

  @Test("a write is for the state that its tags name, or for what is not there yet (RFC 9110 §13.1)")
  func writes() throws {
    let tag = EntityTag.of(plain)
    let cases: [(name: String, condition: String, isRefused: Bool, isRefusedOnNone: Bool)] = [
      ("If-Match", tag, false, true), ("If-Match", "\"a\", \(tag)", false, true),
      ("If-Match", "*", false, true),
      ("If-Match", "\"a\"", true, true), ("If-Match", "W/\(tag)", true, true),
      ("If-None-Match", "*", true, false), ("If-None-Match", tag, true, false),
      ("If-None-Match", "\"a\"", false, false), ("If-Modified-Since", Self.date, false, false),
    ]
    for entry in cases {
      #expect(try isRefused([entry.name: entry.condition], value) == entry.isRefused, "\(entry)")
      #expect(try isRefused([entry.name: entry.condition], nil) == entry.isRefusedOnNone, "\(entry)")
    }
    #expect(try !isRefused([:], value) && !isRefused([:], nil))
    try WriteConditions.none.check(value)
  }
}

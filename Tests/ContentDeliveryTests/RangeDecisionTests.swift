import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentDelivery

/// Expected values from RFC 9110 §13, §14, §15.3.7 and §15.5.17, whose examples have a representation of 10,000 bytes, or of 1234. Each
/// request is read twice: from the bytes of a loop, and from the fields off the loops.
@Suite("The decision on a request for content")
struct RangeDecisionTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var section: String
    var fields: [(name: String, value: String)]
    var expected: RangeDecision

    var testDescription: String {
      "\(section) \(fields.map { "\($0.name): \($0.value)" }.joined(separator: ", "))"
    }

    init(_ section: String, _ expected: RangeDecision, _ fields: [(name: String, value: String)]) {
      self.section = section
      self.expected = expected
      self.fields = fields
    }

    init(_ section: String, range: String, _ expected: RangeDecision) {
      self.init(section, expected, [("Range", range)])
    }
  }

  private static let digest = SHA256Digest.of(Array("package".utf8))
  /// The tag of the content, and another one.
  private static let tag = "\"\(digest)\""
  private static let other = "\"\(SHA256Digest.of(Array("another".utf8)))\""
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  static let ranges: [Case] = [
    Case("§14.2", .whole, []),
    // The RFC's examples of ranges.
    Case("§14.1.2", range: "bytes=0-499", .part(0..<500)),
    Case("§14.1.2", range: "bytes=500-999", .part(500..<1000)),
    Case("§14.1.2", range: "bytes=-500", .part(9500..<10_000)),
    Case("§14.1.2", range: "bytes=9500-", .part(9500..<10_000)),
    Case("§14.1.2", range: "bytes=0-0,-1", .parts([0..<1, 9999..<10_000])),
    Case("§14.1.2", range: "bytes= 0-999, 4500-5499, -1000", .parts([0..<1000, 4500..<5500, 9000..<10_000])),
    // Parts that touch or overlap may be sent as one (§15.3.7.2).
    Case("§14.1.2", range: "bytes=500-600,601-999", .part(500..<1000)),
    Case("§14.1.2", range: "bytes=500-700,601-999", .part(500..<1000)),
    // The order is the request's.
    Case("§15.3.7.2", range: "bytes=5000-5999,0-99", .parts([5000..<6000, 0..<100])),
    // A last position beyond the end means the end, a suffix that is too long the whole; numbers have any size.
    Case("§14.1.2", range: "bytes=9000-20000", .part(9000..<10_000)),
    Case("§14.1.2", range: "bytes=0-99999999999999999999999", .part(0..<10_000)),
    Case("§14.1.2", range: "bytes=-20000", .part(0..<10_000)),
    Case("§14.1.2", range: "bytes=-99999999999999999999999", .part(0..<10_000)),
    Case("§14.1.2", range: "bytes=0-", .part(0..<10_000)),
    Case("§14.1.2", range: "bytes=9999-9999", .part(9999..<10_000)),
    // Units are compared without case, and empty elements of the list are read over (§5.6.1.2).
    Case("§14.1", range: "BYTES=0-5", .part(0..<6)),
    Case("§5.6.1.2", range: "bytes=,0-5,", .part(0..<6)),
    // A set is satisfiable if one range of it is.
    Case("§14.1.1", range: "bytes=0-5,99999999-", .part(0..<6)),
    Case("§14.1.1", range: "bytes=10000-", .unsatisfiable),
    Case("§14.1.1", range: "bytes=10000-10001", .unsatisfiable),
    Case("§14.1.1", range: "bytes=99999999999999999999999-", .unsatisfiable),
    Case("§14.1.1", range: "bytes=-0", .unsatisfiable),
    Case("§14.1.1", range: "bytes=10000-,-0", .unsatisfiable),
    // A range that is invalid makes the whole field so, which is ignored then, as one of an unknown unit must be.
    Case("§14.1.1", range: "bytes=5-4", .whole),
    Case("§14.1.1", range: "bytes=0-5,10-7", .whole),
    Case("§14.1.1", range: "bytes=a-b", .whole),
    Case("§14.1.1", range: "bytes=-", .whole),
    Case("§14.1.1", range: "bytes=5", .whole),
    Case("§14.1.1", range: "bytes=+1-5", .whole),
    Case("§14.2", range: "bytes 0-5", .whole),
    Case("§14.2", range: "pages=1-2", .whole),
    // Two fields make no list of one.
    Case("§5.3", .whole, [("Range", "bytes=0-5"), ("Range", "bytes=7-9")]),
    // Many small ranges may be rejected: 33 are.
    Case(
      "§15.5.17", range: "bytes=" + (0..<33).map { "\($0 * 200)-\($0 * 200)" }.joined(separator: ","),
      .unsatisfiable),
    Case(
      "§14.2", range: "bytes=" + (0..<32).map { "\($0 * 200)-\($0 * 200)" }.joined(separator: ","),
      .parts((0..<32).map { $0 * 200..<$0 * 200 + 1 })),
  ]

  static let conditions: [Case] = [
    // If-Range compares strongly. With a tag that does not match, a date or anything else the range is ignored.
    Case("§13.1.5", .part(0..<10), [("Range", "bytes=0-9"), ("If-Range", tag)]),
    Case("§13.1.5", .parts([0..<10, 500..<510]), [("Range", "bytes=0-9,500-509"), ("If-Range", tag)]),
    Case("§13.1.5", .whole, [("Range", "bytes=0-9"), ("If-Range", other)]),
    Case("§13.1.5", .whole, [("Range", "bytes=0-9"), ("If-Range", "W/" + tag)]),
    Case("§13.1.5", .whole, [("Range", "bytes=0-9"), ("If-Range", date)]),
    Case("§13.1.5", .whole, [("Range", "bytes=0-9"), ("If-Range", "*")]),
    Case("§13.1.5", .whole, [("Range", "bytes=0-9"), ("If-Range", "\(other), \(tag)")]),
    Case("§13.1.5", .whole, [("Range", "bytes=0-9"), ("If-Range", tag), ("If-Range", tag)]),
    Case("§13.1.5", .whole, [("If-Range", other)]),
    Case("§13.1.5", .whole, [("Range", "bytes=10000-"), ("If-Range", other)]),
    Case("§13.1.5", .unsatisfiable, [("Range", "bytes=10000-"), ("If-Range", tag)]),
    // If-None-Match compares weakly.
    Case("§13.1.2", .notModified, [("If-None-Match", tag)]),
    Case("§13.1.2", .notModified, [("If-None-Match", "W/" + tag)]),
    Case("§13.1.2", .notModified, [("If-None-Match", "*")]),
    Case("§13.1.2", .notModified, [("If-None-Match", "\(other), \(tag)")]),
    Case("§13.1.2", .notModified, [("If-None-Match", other), ("If-None-Match", tag)]),
    Case("§13.1.2", .whole, [("If-None-Match", other)]),
    Case("§13.1.2", .whole, [("If-None-Match", "w/" + tag)]),
    // If-Match compares strongly.
    Case("§13.1.1", .whole, [("If-Match", tag)]),
    Case("§13.1.1", .whole, [("If-Match", "*")]),
    Case("§13.1.1", .whole, [("If-Match", "\(other), \(tag)")]),
    Case("§13.1.1", .preconditionFailed, [("If-Match", other)]),
    Case("§13.1.1", .preconditionFailed, [("If-Match", "W/" + tag)]),
    // Content has no date of modification, and conditions on one are ignored.
    Case("§13.1.3", .whole, [("If-Modified-Since", date)]),
    Case("§13.1.4", .whole, [("If-Unmodified-Since", date)]),
    // The order: If-Match, If-None-Match, and the range last.
    Case("§13.2.2", .preconditionFailed, [("If-Match", other), ("If-None-Match", tag)]),
    Case("§13.2.2", .notModified, [("If-Match", tag), ("If-None-Match", tag)]),
    Case("§13.2.2", .notModified, [("If-None-Match", tag), ("Range", "bytes=0-9")]),
    Case("§13.2.2", .preconditionFailed, [("If-Match", other), ("Range", "bytes=0-9")]),
    Case("§13.2.2", .part(0..<10), [("If-None-Match", other), ("Range", "bytes=0-9")]),
    Case("§13.2.2", .part(0..<10), [("If-Match", tag), ("Range", "bytes=0-9"), ("If-Range", tag)]),
    Case("§13.2.2", .whole, [("If-Match", tag), ("Range", "bytes=0-9"), ("If-Range", other)]),
    // A range counts only if the answer were 200 without it (§14.2).
    Case("§14.2", .notModified, [("If-None-Match", tag), ("Range", "bytes=10000-")]),
    Case("§14.2", .preconditionFailed, [("If-Match", other), ("Range", "bytes=10000-")]),
  ]

  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// A package of so many bytes, of which none is read.
  private func package(length: Int64) throws -> OpenPackage {
    let file = try FileDescriptor.open(directory.path("\(length)"), .readWrite, options: .create)
    try file.truncate(to: ByteCount(length))
    return OpenPackage(digest: Self.digest, file: try SharedDescriptor(file), mediaType: "application/zip")
  }

  /// The decisions of both readers.
  private func decisions(
    _ method: HTTPMethod, _ fields: [(name: String, value: String)], length: Int64 = 10_000
  ) throws -> [RangeDecision] {
    let request = ContentRequest(method: method, fields: fields)
    let package = try package(length: length)
    return [
      try request.withHead { RangeDecision(on: $0, bytes: $1, for: package) },
      RangeDecision(on: try request.read(), entityTag: package.entityTag, length: length),
    ]
  }

  @Test("GET is decided as RFC 9110 says, by both readers", arguments: ranges + conditions)
  func get(_ test: Case) throws {
    for decision in try decisions(.get, test.fields) { #expect(decision == test.expected) }
  }

  @Test("HEAD has no ranges, and the same conditions as GET", arguments: ranges + conditions)
  func head(_ test: Case) throws {
    let expected: RangeDecision =
      switch test.expected {
      case .part, .parts, .unsatisfiable: .whole
      case .whole, .notModified, .preconditionFailed: test.expected
      }
    for decision in try decisions(.head, test.fields) { #expect(decision == expected) }
  }

  @Test(
    "a decision has its status, its Content-Range and the length of its body",
    arguments: [
      // The examples of §14.4, whose representation has 1234 bytes.
      ("bytes=42-1233", 206, "bytes 42-1233/1234", 1192), ("bytes=0-499", 206, "bytes 0-499/1234", 500),
      ("bytes=500-999", 206, "bytes 500-999/1234", 500), ("bytes=500-", 206, "bytes 500-1233/1234", 734),
      ("bytes=-500", 206, "bytes 734-1233/1234", 500), ("bytes=1234-", 416, "bytes */1234", nil),
      // Several parts have no such field of their own (§15.3.7.2), and neither has the whole.
      ("bytes=0-9,1000-1009", 206, nil, 20), ("pages=1", 200, nil, 1234),
    ] as [(String, Int, String?, Int64?)])
  func described(range: String, status: Int, contentRange: String?, length: Int64?) throws {
    for decision in try decisions(.get, [("Range", range)], length: 1234) {
      #expect(decision.status.rawValue == status)
      #expect(decision.contentRange(of: 1234) == contentRange)
      #expect(decision.bodyLength(of: 1234) == length)
    }
  }

  @Test("a response without the content has its status, no Content-Range and no body")
  func withoutContent() throws {
    for (fields, status) in [
      ([("If-None-Match", Self.tag), ("Range", "bytes=0-9")], 304),
      ([("If-Match", Self.other), ("Range", "bytes=0-9")], 412),
    ] as [([(name: String, value: String)], Int)] {
      for decision in try decisions(.get, fields) {
        #expect(decision.status.rawValue == status)
        #expect(decision.contentRange(of: 10_000) == nil)
        #expect(decision.bodyLength(of: 10_000) == nil)
      }
    }
  }

  @Test("positions beyond 2^31 and 2^32 are exact")
  func largeOffsets() throws {
    let length: Int64 = 1 << 33
    for decision in try decisions(.get, [("Range", "bytes=4294967295-4294967297")], length: length) {
      #expect(decision == .part(4_294_967_295..<4_294_967_298))
      #expect(decision.contentRange(of: length) == "bytes 4294967295-4294967297/8589934592")
    }
    for decision in try decisions(.get, [("Range", "bytes=2147483647-")], length: 1 << 31) {
      #expect(decision == .part(2_147_483_647..<2_147_483_648))
    }
  }

  /// A range of nothing may be ignored (§14.2), which keeps a client from 206 without a byte.
  @Test("empty content has no ranges", arguments: ["bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-0"])
  func empty(range: String) throws {
    for decision in try decisions(.get, [("Range", range)], length: 0) { #expect(decision == .whole) }
  }

  @Test("limits hold bodies back, and no response without one")
  func admission() throws {
    let meter = GrantMeter(
      handle: .init(high: 0, low: 1), content: Self.digest, device: DeviceMeter(start: 0), deviceTag: 1,
      start: 0)
    meter.didBegin()
    let limits = RateLimits(bodiesPerGrant: 1, bodiesPerDevice: 1)
    func admission(_ decision: RangeDecision) -> GrantMeter.Admission {
      decision.admission(of: 10_000, to: meter, under: limits) { 0 }
    }
    for decision in [.whole, .part(0..<10), .parts([0..<10, 500..<510])] as [RangeDecision] {
      #expect(admission(decision) == .wait(nanoseconds: 1_000_000_000))
    }
    for decision in [.notModified, .preconditionFailed, .unsatisfiable] as [RangeDecision] {
      #expect(admission(decision) == .begin(bytesPerSecond: nil))
    }
    meter.didEnd()
    #expect(admission(.whole) == .begin(bytesPerSecond: nil))
  }
}

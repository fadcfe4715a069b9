import CoreTypes
import HTTPParsing
import HTTPServer
import Testing

/// Conditions (RFC 9110 §13.1 and §13.2.2) and ranges (§14.2) of a request, as handlers ask for them.
struct PreconditionsTests {
  static let lastModified = Timestamp(millisecondsSinceEpoch: 784_111_777_000)
  static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  static let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"
  static let later = "Sun, 06 Nov 1994 08:49:38 GMT"

  struct Vector: Sendable, CustomStringConvertible {
    let fields: [(String, String)]
    let expected: Preconditions.Verdict
    var method = HTTPMethod.get
    var isDateStrong = false
    var description: String { "\(method) \(fields.map { "\($0.0): \($0.1)" })" }

    init(
      _ expected: Preconditions.Verdict, _ fields: (String, String)..., method: HTTPMethod = .get,
      isDateStrong: Bool = false
    ) {
      self.expected = expected
      self.fields = fields
      self.method = method
      self.isDateStrong = isDateStrong
    }
  }

  static let vectors = [
    Vector(.proceed),
    Vector(.proceed, ("If-Match", "\"a\"")),
    Vector(.proceed, ("If-Match", "*")),
    Vector(.proceed, ("If-Match", "\"x\", \"a\"")),
    Vector(.failed, ("If-Match", "\"b\"")),
    Vector(.failed, ("If-Match", "W/\"a\"")),
    Vector(.failed, ("If-Match", "a")),
    Vector(.failed, ("If-Match", "\"A\"")),
    Vector(.notModified, ("If-None-Match", "\"a\"")),
    Vector(.notModified, ("If-None-Match", "W/\"a\"")),
    Vector(.notModified, ("If-None-Match", "*")),
    Vector(.notModified, ("If-None-Match", "\"x,\\\",\"a\"")),
    Vector(.notModified, ("If-None-Match", "\"a,b\",\"a\"")),
    Vector(.notModified, ("If-None-Match", "\"b\""), ("If-None-Match", "\"a\"")),
    Vector(.proceed, ("If-None-Match", "\"b\"")),
    Vector(.proceed, ("If-None-Match", "w/\"a\"")),
    Vector(.notModified, ("If-None-Match", "\"a\""), method: .head),
    Vector(.failed, ("If-None-Match", "\"a\""), method: .put),
    Vector(.failed, ("If-None-Match", "*"), method: .post),
    Vector(.notModified, ("If-Modified-Since", date)),
    Vector(.notModified, ("If-Modified-Since", later)),
    Vector(.proceed, ("If-Modified-Since", earlier)),
    Vector(.proceed, ("If-Modified-Since", "yesterday")),
    Vector(.proceed, ("If-Modified-Since", date), method: .post),
    Vector(.proceed, ("If-Unmodified-Since", date)),
    Vector(.proceed, ("If-Unmodified-Since", later)),
    Vector(.failed, ("If-Unmodified-Since", earlier)),
    Vector(.proceed, ("If-Unmodified-Since", "never")),
    // The tag decides where there is one.
    Vector(.proceed, ("If-Match", "\"a\""), ("If-Unmodified-Since", earlier)),
    Vector(.proceed, ("If-None-Match", "\"b\""), ("If-Modified-Since", date)),
    Vector(.failed, ("If-Match", "\"b\""), ("If-None-Match", "\"a\"")),
    Vector(.notModified, ("If-Match", "\"a\""), ("If-None-Match", "\"a\"")),
    // If-Range: strong, exact, and nothing without Range.
    Vector(.proceed, ("Range", "bytes=0-1"), ("If-Range", "\"a\"")),
    Vector(.proceedWithoutRange, ("Range", "bytes=0-1"), ("If-Range", "\"b\"")),
    Vector(.proceedWithoutRange, ("Range", "bytes=0-1"), ("If-Range", "W/\"a\"")),
    Vector(.proceedWithoutRange, ("Range", "bytes=0-1"), ("If-Range", "garbage")),
    Vector(.proceedWithoutRange, ("Range", "bytes=0-1"), ("If-Range", "*")),
    Vector(.proceedWithoutRange, ("Range", "bytes=0-1"), ("If-Range", date)),
    Vector(.proceed, ("Range", "bytes=0-1"), ("If-Range", date), isDateStrong: true),
    Vector(.proceedWithoutRange, ("Range", "bytes=0-1"), ("If-Range", later), isDateStrong: true),
    Vector(.proceed, ("If-Range", "\"b\"")),
    // An unsatisfiable range does not matter before the conditions.
    Vector(.notModified, ("Range", "bytes=999999-"), ("If-None-Match", "\"a\"")),
    Vector(.failed, ("Range", "bytes=999999-"), ("If-Match", "\"b\"")),
  ]

  @Test("conditions are judged in the order of the RFC, for both kinds of handler", arguments: vectors)
  func verdict(_ vector: Vector) throws {
    var headers = HTTPFields()
    for (name, value) in vector.fields { headers.append(name: name, value: value) }
    let request = try HTTPRequest(method: vector.method, rawTarget: "/", headers: headers)
    let async = Preconditions(
      request, entityTag: "\"a\"", lastModified: Self.lastModified, isLastModifiedStrong: vector.isDateStrong)
    #expect(async.verdict == vector.expected)

    let lines = vector.fields.map { "\($0.0): \($0.1)\r\n" }.joined()
    let bytes = Array("\(vector.method) / HTTP/1.1\r\nHost: h\r\n\(lines)\r\n".utf8)
    let tag = Array("\"a\"".utf8)
    var parser = RequestParser()
    let limits = RequestLimits(requestLineLength: 8192, headLength: 16_384, fields: 64)
    #expect(parser.parse(bytes.span, limits: limits) == .complete)
    let inline = Preconditions(
      head: parser.head, bytes: bytes.span, entityTag: tag.span, lastModified: Self.lastModified,
      isLastModifiedStrong: vector.isDateStrong)
    #expect(inline == async)
  }

  @Test("a weak tag of ours never matches strongly")
  func weakTag() throws {
    let request = try HTTPRequest(
      method: .get, rawTarget: "/",
      headers: ["If-Match": "W/\"a\"", "Range": "bytes=0-1", "If-Range": "W/\"a\""])
    let conditions = Preconditions(request, entityTag: "W/\"a\"")
    #expect(conditions.ifMatch == false)
    #expect(conditions.ifRange == false)
  }

  @Test("only GET has ranges, and only one field of them")
  func requested() throws {
    func set(_ method: HTTPMethod, _ fields: [String]) throws -> RangeSet {
      var headers = HTTPFields()
      for field in fields { headers.append(name: "Range", value: field) }
      return RangeSet.requested(
        try HTTPRequest(method: method, rawTarget: "/", headers: headers), length: 100)
    }
    #expect(try set(.get, ["bytes=0-5"]) == .single(0..<6))
    #expect(try set(.head, ["bytes=0-5"]) == .ignore)
    #expect(try set(.post, ["bytes=0-5"]) == .ignore)
    #expect(try set(.get, ["bytes=0-5", "bytes=7-9"]) == .ignore)
    #expect(try set(.get, []) == .ignore)
  }
}
